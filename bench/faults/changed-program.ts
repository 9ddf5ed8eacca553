import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServeOptions } from '../../test/process/server.ts';

/** A change of one source file that takes out what a bench is about. */
export type Change = { file: string; from: string; to: string };

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Copies the program, and changes the copy: a control, for a bench that finds nothing wrong must find what that does.
 *
 * @returns what makes a `serve` that is started with it run the copy
 */
export function changedProgram(folder: string, { file, from, to }: Change): ServeOptions {
  const copy = join(folder, 'changed-program');
  for (const part of ['bin', 'src', 'build', 'package.json'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (!source.includes(from)) throw new Error(`${file} has no ${from}`);
  writeFileSync(path, source.replace(from, to));
  // In place of the program that comes as its second argument.
  const through = ['sh', '-c', 'node=$1; shift 2; exec "$node" "$PROGRAM" "$@"', 'sh'];
  return { through, env: { PROGRAM: join(copy, 'bin/plant-store') } };
}
