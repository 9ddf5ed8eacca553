import { rmSync, statSync } from 'node:fs';
import { makePrivateFile } from './connection.ts';
import { flushFile, placeFile, replaceFile } from './durable-files.ts';
import { copyAndCheck, type WholeReport } from './whole-store.ts';

export type BackupOptions = {
  /** The file of the store; a server may run on it. */
  from: string;
  to: string;
  /** Where it is made until it is whole: beside `to`. Nothing is there. */
  temporary: string;
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
  const { from, to, temporary, replaces, report } = options;
  makePrivateFile(temporary);
  try {
    const { plants } = await copyAndCheck({ from, path: temporary }, report);
    flushFile(temporary);
    const bytes = statSync(temporary).size;
    if (replaces) replaceFile(temporary, to);
    else if (!placeFile(temporary, to)) return undefined;
    return { bytes, plants };
  } finally {
    discardBackup(temporary);
  }
}

/** Takes away what was made so far. */
export function discardBackup(temporary: string): void {
  for (const suffix of ['', '-journal']) rmSync(`${temporary}${suffix}`, { force: true });
}
