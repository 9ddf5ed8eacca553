import { DatabaseSync } from 'node:sqlite';
import { timeOfId } from '../../../runtime.ts';
import { RECEIVERS, toReceiver } from '../../rows.ts';
import { openConnection } from '../engine/connection.ts';
import { fileSize } from './durable-files.ts';
import { storeSchema } from './inspect.ts';

export type StoreSummary = ReturnType<typeof readSummary>;

/**
 * What can be read quickly from a store, without changing it.
 * @throws errors of SQLite; Error for a foreign database or a newer store
 */
export function readSummary(path: string) {
  using db = openConnection(path, { readOnly: true });
  // First: the rest would complain of missing tables.
  const schema = storeSchema(db);
  const newest = db
    .prepare(
      `SELECT max((SELECT max(id) FROM events WHERE owner = users.id)) AS id
       FROM users`,
    )
    .get()?.id;
  return {
    schema,
    bytes: fileSize(path),
    logBytes: fileSize(`${path}-wal`),
    /** By its id, which stays ahead after the clock was. In milliseconds; undefined without events. */
    newestEventAt: typeof newest === 'string' ? timeOfId(newest) : undefined,
    /** Of enabled webhooks. The first schema does not say how healthy they are. */
    receivers: schema.applied === 1 ? undefined : db.prepare(RECEIVERS).all().map(toReceiver),
  };
}

/** Removes the empty log that a reader leaves next to an unused store. Call it only if there was no log before. */
export function removeEmptyLog(path: string): void {
  try {
    using db = new DatabaseSync(path, { timeout: 0 });
    // The last connection removes the log as it closes.
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  } catch {
    // A damaged or read-only store keeps it.
  }
}
