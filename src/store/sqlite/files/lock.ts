import { accessSync, constants, existsSync, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { processes } from '../../../limits.ts';
import { makePrivateFile } from '../engine/connection.ts';
import { BUSY, sqliteCode } from '../engine/failure.ts';

/**
 * Makes sure that only one server runs on a data folder, by SQLite's lock on a file next to the store: the system
 * releases it however the process ends.
 * @throws Error when another server holds it; errors of the file system, with the path
 */
export function lockForServing(path: string): Disposable {
  const lock = tryLock(path, processes.lockWaitMs);
  if (lock !== undefined) return lock;
  throw new Error(
    `Another plant-store server is running on the data folder ${dirname(path)}, or a command recovers the store in it.`,
  );
}

/** Like `lockForServing`, for a program that may run beside a server: undefined when one runs. It does not wait. */
export function lockUnlessServed(path: string): Disposable | undefined {
  // Only a server creates the file: this program may run as another user.
  return existsSync(path) ? tryLock(path, 0) : new DisposableStack();
}

/** Whether a server holds the lock of a data folder. A server that starts meanwhile waits for a moment. */
export function isServed(lockPath: string): boolean {
  if (statSync(lockPath, { throwIfNoEntry: false }) === undefined) return false;
  using db = new DatabaseSync(lockPath, { readOnly: true });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (sqliteCode(error) === BUSY) return true;
    throw error;
  }
}

/**
 * Takes the lock of a file, which is created if missing. The lock's holder may remove the file.
 * @returns undefined if another process still holds the lock after `waitMs`
 */
export function tryLock(path: string, waitMs: number): Disposable | undefined {
  for (;;) {
    makePrivateFile(path);
    const file = fileAt(path);
    if (file === undefined) {
      // A link to nowhere would be tried forever.
      if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) accessSync(path);
      continue;
    }
    let db: DatabaseSync | undefined;
    let failure: unknown;
    try {
      // On a read-only file SQLite would take a lock that excludes nobody.
      accessSync(path, constants.R_OK | constants.W_OK);
      db = new DatabaseSync(path, { timeout: waitMs });
      // A journal on disk would need space there, for a change that nobody makes.
      db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    } catch (error) {
      failure = error;
    }
    // The lock of a file that was removed meanwhile excludes nobody.
    const isSame = file === fileAt(path);
    if (isSame && failure === undefined) return db;
    db?.close();
    if (isSame && sqliteCode(failure) === BUSY) return undefined;
    if (isSame) throw failure;
  }
}

function fileAt(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  return file && `${file.dev} ${file.ino}`;
}
