import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** Makes a folder whose `bin/plant-store` runs the build, as the package does: without sources to run instead. */
export function builtProgram(): string {
  const folder = join(ROOT, 'node_modules', '.cache', 'program');
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true });
  symlinkSync(join(ROOT, 'build'), join(folder, 'build'));
  return folder;
}
