import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * The file of the program. `npm test` names one that runs the build, as the package does; a test file that runs without
 * it gets the sources.
 */
export const PROGRAM = process.env.TEST_PROGRAM ?? join(ROOT, 'bin', 'plant-store');

/** The module that `PROGRAM` loads. */
export const MAIN = process.env.TEST_PROGRAM
  ? join(PROGRAM, '..', '..', 'build', 'lib', 'main.js')
  : join(ROOT, 'src', 'cli', 'main.ts');

/** Makes a folder whose `bin/plant-store` runs the build, as the package does: without sources to run instead. */
export function builtProgram(): string {
  const folder = join(ROOT, 'node_modules', '.cache', 'program');
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true });
  symlinkSync(join(ROOT, 'build'), join(folder, 'build'));
  return folder;
}
