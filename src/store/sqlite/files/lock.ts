import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { processes } from '../../../limits.ts';
import { makePrivateFile } from '../engine/connection.ts';
import { sqliteCode } from '../engine/failure.ts';

const SQLITE_BUSY = 5;

/**
 * Makes sure that one server at a time runs on a data folder. The lock is SQLite's own on a file beside the
 * store, so that the system releases it however the process ends.
 *
 * @returns a function that gives the lock back.
 * @throws Error when another server holds it; errors of the file system, with the path
 */
export function lockForServing(path: string): () => void {
  const unlock = tryLock(path, processes.lockWaitMs);
  if (unlock !== undefined) return unlock;
  throw new Error(
    `Another plant-store server is running on the data folder ${dirname(path)}, or a command recovers the store in it.`,
  );
}

/** The same for a program that may work beside a server: undefined when one runs. It waits for nobody. */
export function lockUnlessServed(path: string): (() => void) | undefined {
  // It is for a server to make: whoever works here may be another user.
  return existsSync(path) ? tryLock(path, 0) : () => {};
}

/**
 * Takes the lock that a file stands for, which is made if it is not there. Whoever holds it may remove the file.
 *
 * @returns a function that gives the lock back; undefined when another process holds it for so long.
 */
export function tryLock(path: string, waitMs: number): (() => void) | undefined {
  for (;;) {
    makePrivateFile(path);
    const file = fileAt(path);
    if (file === undefined) continue;
    // On a file that may only be read, SQLite would take a lock that keeps nobody away.
    accessSync(path, constants.R_OK | constants.W_OK);
    const db = new DatabaseSync(path, { timeout: waitMs });
    const failure = failureOf(() => db.exec('BEGIN EXCLUSIVE'));
    // Nobody else would ask for the lock of a file that was removed meanwhile; SQLite reports an I/O error then.
    const isSame = file === fileAt(path);
    if (isSame && failure === undefined) return () => db.close();
    db.close();
    if (isSame && sqliteCode(failure) === SQLITE_BUSY) return undefined;
    if (isSame) throw failure;
  }
}

/** Undefined where there is none. */
function fileAt(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  return file && `${file.dev} ${file.ino}`;
}

function failureOf(work: () => void): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}
