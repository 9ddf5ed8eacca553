import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { openConnection } from '../engine/connection.ts';
import { sqliteCode } from '../engine/failure.ts';
import type { Schema } from '../engine/migrate.ts';
import { fileSize } from '../files/file-size.ts';
import { storeSchema } from '../files/inspect.ts';

/** Where a webhook points. */
export type Receiver = { webhook: string; url: string };

/** What can be told of a store without reading all of it, and without changing anything. */
export type Glance = {
  schema: Schema;
  bytes: number;
  /** Of the write-ahead log. */
  logBytes: number;
  /** Milliseconds; undefined when there are no events. */
  newestEventAt: number | undefined;
  /** Those of enabled webhooks. */
  receivers: Receiver[];
};

/** @throws errors of SQLite; Error for a database of something else, and for a store of a newer version */
export function glanceAt(path: string): Glance {
  const db = openConnection(path, { readOnly: true });
  try {
    const newest = db
      .prepare(
        `SELECT max((SELECT created_at FROM events WHERE owner = users.id ORDER BY id DESC LIMIT 1)) AS at
         FROM users`,
      )
      .get()?.at;
    const receivers = db.prepare(`SELECT id, url FROM webhooks WHERE status = 'enabled' ORDER BY id`).all();
    return {
      schema: storeSchema(db),
      bytes: fileSize(path),
      logBytes: fileSize(`${path}-wal`),
      newestEventAt: typeof newest === 'number' ? newest : undefined,
      receivers: receivers.map(({ id, url }) => ({ webhook: String(id), url: String(url) })),
    };
  } finally {
    db.close();
  }
}

const SQLITE_BUSY = 5;

/**
 * Whether a server holds the lock of a data folder. It takes a share of the lock for a moment, for which a server that
 * starts just then waits.
 */
export function isServed(lockPath: string): boolean {
  if (statSync(lockPath, { throwIfNoEntry: false }) === undefined) return false;
  const db = new DatabaseSync(lockPath, { readOnly: true });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (sqliteCode(error) === SQLITE_BUSY) return true;
    throw error;
  } finally {
    db.close();
  }
}

/**
 * Takes away the empty log that a reader leaves beside a store which nobody has open; beside one that is in use it does
 * nothing. To be called when there was no log before.
 */
export function removeEmptyLog(path: string): void {
  try {
    const db = new DatabaseSync(path, { timeout: 0 });
    try {
      // The last connection takes the log away as it closes.
      db.prepare('SELECT count(*) FROM sqlite_schema').get();
    } finally {
      db.close();
    }
  } catch {
    // A damaged store keeps it, and so does one that may not be written.
  }
}
