import type { DatabaseSync } from 'node:sqlite';
import { writes } from '../../../limits.ts';
import { isLostFlush } from './failure.ts';

/** A function that tells how many pages the write-ahead log holds. */
export function countLogPages(db: DatabaseSync): () => number {
  const look = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  return () => Number(look.get()?.log);
}

/**
 * A function that copies the write-ahead log into the database once it is long, to be called after each commit, and says
 * whether it copied all of it. SQLite's own, which `openConnection` turns off, keeps its failures to itself.
 *
 * That function throws when the disk did not take a flush: the process must end then. The kernel takes pages that it
 * could not write for clean, so a second flush would succeed without them. SQLite remembers what it copied before, while
 * somebody still read the log, as copied, and would give up the only good copy of it. The next start forgets that, and
 * copies all of the log. Any other failure is over with the next try.
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
  'The disk failed to flush what was copied from the write-ahead log into the database. Nothing is lost: the next ' +
  "start copies it again. See the system's log for the disk.";
