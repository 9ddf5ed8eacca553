import type { DatabaseSync } from 'node:sqlite';
import type { Watch } from './watch.ts';

export type Snapshot = ReturnType<typeof createSnapshot>;

/**
 * Shares one read transaction among all reads of a turn of the event loop: taking and releasing SQLite's read lock
 * costs more than a short query. A snapshot begins with the first read of a turn, after its requests have arrived, and
 * ends with the turn or when this process learns of its own commit: a caller sees every commit acknowledged before its
 * request. Nothing but reads ever runs on this connection.
 */
export function createSnapshot(db: DatabaseSync, { readFailed }: Pick<Watch, 'readFailed'>) {
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let open = false;
  let generation = 0;

  function end(): void {
    if (!open) return;
    open = false;
    // SQLite ends the transaction itself after some errors.
    if (!db.isTransaction) return;
    try {
      commit.run();
    } catch {
      // A failed read makes this fail, too. Nothing was written, so nothing is lost.
      if (db.isTransaction) rollback.run();
    }
  }

  return {
    /** Throws AppError 50302 when the machine is at fault: an unreadable disk, or no memory. */
    read<T>(query: () => T): T {
      if (!open) {
        begin.run();
        open = true;
        generation++;
        setImmediate(end);
      }
      try {
        return query();
      } catch (error) {
        end();
        throw readFailed(error, query);
      }
    },
    /** Ends the snapshot: later reads see the latest commit. */
    end,
    /** Counts snapshots: values derived from the database are valid while this number stays. */
    generation: () => generation,
  };
}
