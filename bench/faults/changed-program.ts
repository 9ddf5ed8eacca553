import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServeOptions } from '../../testkit/processes/server.ts';

/** A change to one source file that removes the behaviour under test. */
export type Change = { file: string; from: string; to: string };

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Copies the program and changes the copy, as a control: a benchmark that finds no fault must find this one.
 * @returns the option that makes a `serve` run the copy
 */
export function changedProgram(folder: string, { file, from, to }: Change): ServeOptions {
  const copy = join(folder, 'changed-program');
  for (const part of ['bin', 'src', 'packages', 'build', 'package.json'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (!source.includes(from)) throw new Error(`${file} has no ${from}`);
  writeFileSync(path, source.replace(from, to));
  // Replaces the program in its second argument.
  const through = ['sh', '-c', 'node=$1; shift 2; exec "$node" "$PROGRAM" "$@"', 'sh'];
  return { through, env: { PROGRAM: join(copy, 'bin/plant-store') } };
}
