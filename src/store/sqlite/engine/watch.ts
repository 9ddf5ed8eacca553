import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../../errors.ts';
import { storage as limits } from '../../../limits.ts';
import type { Log } from '../../../runtime.ts';
import { unavailable } from '../../write-outcomes.ts';
import { damaged, explain, isDamage, isEnvironment, StoreFailure } from './failure.ts';
import type { StoreFiles } from './store-files.ts';

export type Watch = ReturnType<typeof watchStore>;

type WatchOptions = {
  path: string;
  db: DatabaseSync;
  /** Undefined for a store that is not watched: in memory, or of a short-lived program. */
  files: StoreFiles | undefined;
  log: Log;
  onFatal(error: StoreFailure): void;
};

type Kind = 'files' | 'reads' | 'writes';

const OVER = {
  files: 'the files of the store are back',
  reads: 'the store is readable again',
  writes: 'the store is writable again',
} as const;

/** Watches whether the store is usable. Logs each problem at its start and end; ends the process if it cannot pass. */
export function watchStore({ path, db, files, log, onFatal }: WatchOptions) {
  const troubles = new Map<Kind, StoreFailure>();
  let ended: StoreFailure | undefined;
  let failedRead: (() => unknown) | undefined;
  /**
   * Whether a write succeeded since the last failure. Checked once a second: on a full disk some writes succeed, and
   * logging each would announce a recovery that has not happened.
   */
  let hasWritten = false;
  let isExamining = false;
  /** Until this time a sign of damage is proof: the whole store was read without a disk error. */
  let readableUntil = 0;

  const timer = files && setInterval(look, limits.lookEveryMs).unref();
  let retry: NodeJS.Timeout | undefined;

  function look(): void {
    if (ended) return;
    // SQLite knows the required sizes only between transactions. After a suspension of the process, a timer that reads
    // may come before this one each time.
    if (!db.isTransaction) compareFiles();
    else if (files) retry ??= setTimeout(lookAgain, 1).unref();
    if (failedRead) tryAgain(failedRead);
    if (hasWritten) over('writes');
  }

  function lookAgain(): void {
    retry = undefined;
    look();
  }

  function compareFiles(): void {
    const lost = files?.loss(db);
    if (lost) note('files', lost);
    else over('files');
  }

  function tryAgain(query: () => unknown): void {
    try {
      // Empties the page cache: what is read from memory says nothing about the disk.
      db.exec('PRAGMA shrink_memory');
      query();
    } catch (error) {
      if (isEnvironment(error)) note('reads', failureOf(error));
      // An inner read was noted already.
      if (isEnvironment(error) || (error instanceof AppError && error.code === 50302)) return;
    }
    failedRead = undefined;
    readableUntil = 0;
    over('reads');
  }

  function note(kind: Kind, failure: StoreFailure): void {
    if (failure.isFinal) {
      end(failure);
      return;
    }
    const known = [...troubles.values()].map(({ message }) => message);
    if (!known.includes(failure.message)) log.error({ err: failure }, failure.message);
    troubles.set(kind, failure);
  }

  function over(kind: Kind): void {
    if (troubles.delete(kind)) log.info({ path }, OVER[kind]);
  }

  function end(failure: StoreFailure): void {
    if (ended) return;
    ended = files?.lacksLog() ? withLogSaved(failure) : failure;
    clearInterval(timer);
    log.error({ err: ended }, ended.message);
    onFatal(ended);
  }

  /** Copies the log's contents into the database: SQLite still has the log open. */
  function withLogSaved(failure: StoreFailure): StoreFailure {
    const saved = saveLog(db);
    const outcome = saved ? 'Nothing is lost: its contents are in the database.' : 'Its contents are lost.';
    return new StoreFailure(`${failure.message} ${outcome}`, { isFinal: true, cause: failure });
  }

  function failureOf(error: unknown): StoreFailure {
    if (!isDamage(error)) return explain(error, { path });
    if (!files || performance.now() < readableUntil) return damaged(path, error);
    void examine(files);
    return troubles.get('reads') ?? explain(error, { path });
  }

  /** SQLite reports an unreadable disk as damage: if everything is readable, the next sign of damage is proof. */
  async function examine({ readRefusal }: StoreFiles): Promise<void> {
    if (isExamining) return;
    isExamining = true;
    const refusal = await readRefusal();
    isExamining = false;
    if (ended) return;
    if (refusal === undefined) {
      readableUntil = performance.now() + limits.readableMs;
      look();
      return;
    }
    const message = `${path} cannot be read (${refusal}). Check for disk errors (dmesg).`;
    if (failedRead) note('reads', new StoreFailure(message, { isFinal: false }));
  }

  return {
    /** The error to answer a failed read with: unchanged unless the machine is to blame. */
    readFailed(error: unknown, query: () => unknown): unknown {
      if (!isEnvironment(error)) return error;
      failedRead = query;
      const failure = failureOf(error);
      note('reads', failure);
      return unavailable(failure);
    },
    /** Call it for each batch, with its error if it failed. */
    batchEnded(error: unknown): void {
      hasWritten ||= error === undefined;
      if (!(error instanceof AppError) || (error.code !== 50301 && error.code !== 50302)) return;
      hasWritten = false;
      const { cause } = error;
      if (cause instanceof StoreFailure && cause.isFinal) end(cause);
      else if (error.code === 50301 && !(cause instanceof StoreFailure))
        end(explain(cause, { path, isCommit: true }));
      look();
      // The same cause, already noted.
      if (ended || troubles.has('files')) return;
      if (cause instanceof StoreFailure) note('writes', cause);
      else if (isEnvironment(cause)) note('writes', failureOf(cause));
    },
    /** Ends the process; refuses everything from now on. */
    end,
    /** Checks the files and retries the failed read. Throws while the store is unreadable or gone. */
    check(): void {
      look();
      const failure = ended ?? troubles.get('files') ?? troubles.get('reads');
      if (failure) throw failure;
    },
    /** Throws AppError 50302 while the files are not in place, and when the process is about to exit. */
    refuseWrites(): void {
      if (troubles.has('files')) look();
      const failure = ended ?? troubles.get('files');
      if (failure) throw unavailable(failure);
    },
    /** Stops watching after a last check. Throws if the files are not the store's any more: they must be left alone. */
    stop(): void {
      clearInterval(timer);
      clearTimeout(retry);
      if (!ended) compareFiles();
      if (ended) throw ended;
    },
  };
}

function saveLog(db: DatabaseSync): boolean {
  try {
    // SQLite checkpoints only outside a transaction, and requests in progress may share a snapshot.
    if (db.isTransaction) db.exec('ROLLBACK');
    const { busy, log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(FULL)').get() ?? {};
    return busy === 0 && log === checkpointed;
  } catch {
    return false;
  }
}
