import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { writes } from '../../limits.ts';

/** Older versions can corrupt a database when a checkpoint resets the write-ahead log. */
const OLDEST_SQLITE = [3, 51, 3] as const;

/**
 * Opens a connection. `synchronous=FULL` flushes the write-ahead log at each commit: NORMAL loses
 * acknowledged commits on a power cut.
 */
export function openConnection(path: string, options: { readOnly?: boolean } = {}): DatabaseSync {
  refuseOldSqlite();
  if (!options.readOnly && path !== ':memory:') makePrivateFile(path);
  const db = new DatabaseSync(path, { readOnly: options.readOnly ?? false, timeout: writes.lockWaitMs });
  if (!options.readOnly) db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL');
  db.exec('PRAGMA foreign_keys = ON');
  db.exec('PRAGMA trusted_schema = OFF');
  return db;
}

/**
 * Makes an empty file, which SQLite takes for an empty database, that only its owner may read; the files that
 * SQLite puts beside it get its mode. A file that is there stays as it is, and is not even opened: closing it
 * would give up the locks that this process holds on it.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // It is there, or cannot be made: the latter SQLite finds as well, and reports in its own terms.
  }
}

function refuseOldSqlite(): void {
  const version = process.versions.sqlite ?? '0';
  const parts = version.split('.').map(Number);
  for (const [i, least] of OLDEST_SQLITE.entries()) {
    const part = parts[i] ?? 0;
    if (part > least) return;
    if (part < least)
      throw new Error(`SQLite ${version} is too old; ${OLDEST_SQLITE.join('.')} or newer is needed`);
  }
}
