import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { openConnection } from '../engine/connection.ts';
import { sqliteCode } from '../engine/failure.ts';
import type { Schema } from '../engine/migrate.ts';
import { storeSchema } from '../files/inspect.ts';
import { fileSize } from './durable-files.ts';

/** `isHealthy`: the last attempt succeeded. */
export type Receiver = { webhook: string; url: string; isHealthy: boolean };

/** What can be read quickly from a store, without changing it. */
export type StoreSummary = {
  schema: Schema;
  bytes: number;
  logBytes: number;
  /** In milliseconds; undefined without events. */
  newestEventAt: number | undefined;
  /** Of enabled webhooks. */
  receivers: Receiver[];
};

/** @throws errors of SQLite; Error for a foreign database or a newer store */
export function readSummary(path: string): StoreSummary {
  const db = openConnection(path, { readOnly: true });
  try {
    // First: the rest would complain of missing tables.
    const schema = storeSchema(db);
    const newest = db
      .prepare(
        `SELECT max((SELECT created_at FROM events WHERE owner = users.id ORDER BY id DESC LIMIT 1)) AS at
         FROM users`,
      )
      .get()?.at;
    const receivers = db
      .prepare(
        `SELECT id, url, last_success_at > coalesce(last_failure_at, 0) AS is_healthy
         FROM webhooks
         WHERE status = 'enabled'
         ORDER BY id`,
      )
      .all();
    return {
      schema,
      bytes: fileSize(path),
      logBytes: fileSize(`${path}-wal`),
      newestEventAt: typeof newest === 'number' ? newest : undefined,
      receivers: receivers.map(({ id, url, is_healthy: healthy }) => ({
        webhook: String(id),
        url: String(url),
        isHealthy: healthy === 1,
      })),
    };
  } finally {
    db.close();
  }
}

const SQLITE_BUSY = 5;

/** Whether a server holds the lock of a data folder. A server that starts meanwhile waits for a moment. */
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

/** Removes the empty log that a reader leaves next to an unused store. Call it only if there was no log before. */
export function removeEmptyLog(path: string): void {
  try {
    const db = new DatabaseSync(path, { timeout: 0 });
    try {
      // The last connection removes the log as it closes.
      db.prepare('SELECT count(*) FROM sqlite_schema').get();
    } finally {
      db.close();
    }
  } catch {
    // A damaged or read-only store keeps it.
  }
}
