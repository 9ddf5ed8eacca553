import type { DatabaseSync } from 'node:sqlite';
import { writes } from '../../../limits.ts';
import { isLostFlush } from './failure.ts';

/** Returns a function that counts the pages in the write-ahead log. */
export function countLogPages(db: DatabaseSync): () => number {
  const look = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  return () => Number(look.get()?.log);
}

/**
 * Returns a function to call after each commit: it copies a long write-ahead log into the database and says whether it
 * copied all of it. It replaces SQLite's own checkpoint, which hides failures.
 *
 * It throws when the disk failed a flush; the process must then exit. The kernel considers the unwritten pages clean,
 * so a second flush would succeed without them, and SQLite would discard the log, the only good copy. The next start
 * copies the whole log again. Other failures pass with the next try.
 */
export function createCheckpoint(db: DatabaseSync): () => boolean {
  const logPages = countLogPages(db);
  const copy = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  return () => {
    if (logPages() < writes.logPages) return false;
    try {
      const { busy, log, checkpointed } = copy.get() ?? {};
      return busy === 0 && log === checkpointed;
    } catch (cause) {
      if (isLostFlush(cause)) throw new Error(LOST_FLUSH, { cause });
      return false;
    }
  };
}

const LOST_FLUSH =
  'The disk failed to flush the checkpoint of the write-ahead log into the database. Nothing is lost: the next ' +
  "start copies it again. Check the system's log for disk errors.";
