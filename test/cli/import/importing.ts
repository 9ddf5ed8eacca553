import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Outcome, withFolder } from '../../../testkit/processes/program.ts';
import { type Remote, startRemote } from '../../../testkit/processes/remote.ts';
import type { Receiver } from '../../../testkit/receivers/receiver.ts';

/** A service, and a folder for the files to import. */
export type Import = Remote & {
  /** Writes a file and returns its path. */
  write(name: string, text: string | Buffer): string;
  /** Runs `plant import`. */
  load(...args: string[]): Promise<Outcome>;
  /** The plants with id, name and tag, as JSON text. */
  plants(): Promise<string>;
};

export async function withImport(
  t: TestContext,
  work: (parts: Import) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<void> {
  const remote = await startRemote(t, settings);
  await withFolder(async (folder) => {
    const write = (name: string, text: string | Buffer) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const plants = async () => (await remote.service.request('GET', '/plants?fields=id,name,tag')).text;
    await work({ ...remote, write, plants, load: (...args) => remote.verb('plant', 'import', ...args) });
  });
}

/** How many requests with a row a receiver got, which an import first asks for the user. */
export function rowsAt({ received }: Receiver): number {
  return received.filter(({ method }) => method === 'POST').length;
}

/** What it printed for people. */
export function wordsOf({ code, stdout, stderr }: Outcome, expected: 0 | 1 | 130): string {
  assert.deepEqual({ code, stdout }, { code: expected, stdout: '' }, stderr);
  return stderr;
}

/** Runs an import of six rows that stops after the third, at the user's limit. */
export async function stopped({ write, load }: Import): Promise<string> {
  const file = write('p.csv', 'name,tag\nA,\nB,\nC,\nD,\nE,\nF,\n');
  const said = wordsOf(await load(file, '--concurrency', '1'), 1);
  assert.match(
    said,
    /^Stopped: 3 rows added \(.*\)\.\n3 rows left\. To continue, run the same command .*\nerror: .*40902/,
  );
  return file;
}
/** Makes an import end after the third row. */
export const room = { MAX_PLANTS_PER_USER: '3' };
