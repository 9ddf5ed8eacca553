import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { processes } from '../../limits.ts';
import { makePrivateFile } from './connection.ts';
import { sqliteCode } from './failure.ts';

const SQLITE_BUSY = 5;

/**
 * Makes sure that one server at a time runs on a data folder. The lock is SQLite's own on a file beside the
 * store, so that the system releases it however the process ends.
 *
 * @returns a function that gives the lock back.
 * @throws Error when another server holds it.
 */
export function lockForServing(path: string): () => void {
  makePrivateFile(path);
  const db = new DatabaseSync(path, { timeout: processes.lockWaitMs });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    db.close();
    if (sqliteCode(cause) !== SQLITE_BUSY) throw cause;
    throw new Error(`Another plant-store server is running on the data folder ${dirname(path)}.`, { cause });
  }
  return () => db.close();
}
