import { statSync } from 'node:fs';
import { makePrivateFile } from '../engine/connection.ts';
import type { UnfinishedStore } from '../engine/unfinished-stores.ts';
import { flushFile, placeFile, replaceFile } from './durable-files.ts';
import { copyAndCheck, type WholeReport } from './whole-store.ts';

type BackupOptions = {
  /** The store's file; a server may be running on it. */
  from: string;
  to: string;
  /** Where the backup is written until it is complete. It is removed in the end. */
  unfinished: UnfinishedStore;
  /** Whether to replace an existing file at `to`. */
  replaces: boolean;
  report: WholeReport;
};

/**
 * Writes a snapshot of a store to a file while others use the store. The file gets its name when it is checked and on
 * disk; only its owner may read it.
 * @returns undefined if a file has appeared at `to` that must not be replaced
 * @throws errors of `copyAndCheck` and of the file system; nothing is left behind then, except by UnflushedName
 */
export async function backUp(options: BackupOptions): Promise<{ bytes: number; plants: number } | undefined> {
  const { from, to, replaces, report } = options;
  using unfinished = options.unfinished;
  const { path } = unfinished;
  makePrivateFile(path);
  const { plants } = await copyAndCheck({ from, path }, report);
  flushFile(path);
  const bytes = statSync(path).size;
  if (replaces) replaceFile(path, to);
  else if (!placeFile(path, to)) return undefined;
  return { bytes, plants };
}
