import { statSync } from 'node:fs';
import { makePrivateFile } from '../engine/connection.ts';
import type { Draft } from '../engine/drafts.ts';
import { flushFile, placeFile, replaceFile } from './durable-files.ts';
import { copyAndCheck, type WholeReport } from './whole-store.ts';

export type BackupOptions = {
  /** The file of the store; a server may run on it. */
  from: string;
  to: string;
  /** Where it is made until it is whole. Ended with it. */
  draft: Draft;
  /** Whether what is at `to` is replaced. */
  replaces: boolean;
  report: WholeReport;
};

export type Backup = { bytes: number; plants: number };

/**
 * Writes everything that is in a store at one moment to a file of its own, beside whoever works on the store. The file
 * gets its name when it is whole, checked and on disk; only its owner may read it.
 *
 * @returns undefined when something came to be at `to` meanwhile that is not to be replaced
 * @throws what `copyAndCheck` does, and errors of the file system; nothing is left behind then
 */
export async function backUp(options: BackupOptions): Promise<Backup | undefined> {
  const { from, to, draft, replaces, report } = options;
  const { path } = draft;
  try {
    makePrivateFile(path);
    const { plants } = await copyAndCheck({ from, path }, report);
    flushFile(path);
    const bytes = statSync(path).size;
    if (replaces) replaceFile(path, to);
    else if (!placeFile(path, to)) return undefined;
    return { bytes, plants };
  } finally {
    draft.end();
  }
}
