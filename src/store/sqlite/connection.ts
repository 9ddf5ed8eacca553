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
  const db = new DatabaseSync(path, { readOnly: options.readOnly ?? false, timeout: writes.lockWaitMs });
  if (!options.readOnly) db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL');
  db.exec('PRAGMA foreign_keys = ON');
  db.exec('PRAGMA trusted_schema = OFF');
  return db;
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
