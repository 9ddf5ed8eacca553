import type { DatabaseSync } from 'node:sqlite';
import type { Watch } from './watch.ts';

/**
 * Reads that share one read transaction for each turn of the event loop. Taking and giving back SQLite's
 * read lock costs more than a short query does, so the requests of one turn share it.
 *
 * A snapshot is opened by the first read of a turn, after its requests have arrived, and ends with the turn,
 * or as soon as a commit of this process is known: a caller sees every commit that was acknowledged before it
 * asked. Nothing but reads ever runs on this connection.
 */
export type Snapshot = {
  /** Throws AppError 50302 when the machine is at fault: a disk that cannot be read, memory that is full. */
  read<T>(query: () => T): T;
  /** Ends the snapshot: what is read from now on sees the latest commit. */
  end(): void;
  /** Counts snapshots: what was derived from a database state holds while this number stays. */
  generation(): number;
};

export function createSnapshot(db: DatabaseSync, { readFailed }: Pick<Watch, 'readFailed'>): Snapshot {
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let open = false;
  let generation = 0;

  function end(): void {
    if (!open) return;
    open = false;
    // After some errors SQLite has ended the transaction by itself.
    if (!db.isTransaction) return;
    try {
      commit.run();
    } catch {
      // A read that failed makes this fail as well. Nothing was written that could be lost.
      if (db.isTransaction) rollback.run();
    }
  }

  return {
    read(query) {
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
    end,
    generation: () => generation,
  };
}
