import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../../errors.ts';
import { storage as limits } from '../../../limits.ts';
import type { Log } from '../../../runtime.ts';
import { unavailable } from '../../failures.ts';
import { damaged, explain, isDamage, isEnvironment, StoreFailure } from './failure.ts';
import type { StoreFiles } from './store-files.ts';

/**
 * Watches whether the store can be used. What goes wrong is logged once, with its cause, and once again when it is over;
 * what cannot pass ends the process.
 */
export type Watch = {
  /** What a read that failed so is answered; any error but one of the environment as it is. */
  readFailed(error: unknown, query: () => unknown): unknown;
  /** To be told of each batch that failed. */
  writeFailed(error: unknown): void;
  written(): void;
  /** Ends the process: what follows is refused. */
  end(failure: StoreFailure): void;
  /** Looks at the files and tries again the read that failed. Throws while the store cannot be read, or is not there. */
  check(): void;
  /** Throws AppError 50302 while the files are not in their place, and when the process is about to end. */
  refuseWrites(): void;
  /** Stops to watch, and looks once more. Throws when the files are no longer those of the store: then nothing may be done to them. */
  stop(): void;
};

export type WatchOptions = {
  path: string;
  db: DatabaseSync;
  /** Undefined for a store that is not watched: in memory, or of a program that ends soon. */
  files: StoreFiles | undefined;
  log: Log;
  onFatal(error: StoreFailure): void;
};

type Kind = 'files' | 'reads' | 'writes';

const OVER = {
  files: 'the files of the store are back',
  reads: 'the store can be read again',
  writes: 'the store can be written again',
} as const;

export function watchStore({ path, db, files, log, onFatal }: WatchOptions): Watch {
  const troubles = new Map<Kind, StoreFailure>();
  let ended: StoreFailure | undefined;
  let failedRead: (() => unknown) | undefined;
  /** Since the last failure. A disk that is nearly full fails some writes only: the log tells it once a second at most. */
  let hasWritten = false;
  let isExamining = false;
  /** Until then a sign of damage is proof: all of the store was read, and the disk reported no error. */
  let readableUntil = 0;

  const timer = files && setInterval(look, limits.lookEveryMs).unref();

  function look(): void {
    if (ended) return;
    // Only between transactions can SQLite say how long its files must be; the next look comes soon.
    if (!db.isTransaction) compareFiles();
    if (failedRead) tryAgain(failedRead);
    if (hasWritten) over('writes');
  }

  function compareFiles(): void {
    const lost = files?.loss(db);
    if (lost) note('files', lost);
    else over('files');
  }

  function tryAgain(query: () => unknown): void {
    try {
      query();
    } catch (error) {
      if (isEnvironment(error)) note('reads', failureOf(error));
      // A read within this one was noted.
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

  /** What the log held goes into the database: SQLite has the log open still. */
  function withLogSaved(failure: StoreFailure): StoreFailure {
    const saved = saveLog(db);
    const outcome = saved ? 'Nothing is lost: what it held is in the database now.' : 'What it held is lost.';
    return new StoreFailure(`${failure.message} ${outcome}`, { isFinal: true, cause: failure });
  }

  function failureOf(error: unknown): StoreFailure {
    if (!isDamage(error)) return explain(error, { path });
    if (!files || performance.now() < readableUntil) return damaged(path, error);
    void examine(files);
    return troubles.get('reads') ?? explain(error, { path });
  }

  /** SQLite reports a disk that cannot be read as damage; the next sign of it is proof when all can be read. */
  async function examine({ refusesRead }: StoreFiles): Promise<void> {
    if (isExamining) return;
    isExamining = true;
    const refusal = await refusesRead();
    isExamining = false;
    if (ended) return;
    if (refusal === undefined) {
      readableUntil = performance.now() + limits.readableMs;
      look();
      return;
    }
    const message = `${path} cannot be read (${refusal}). Look for disk errors (dmesg).`;
    if (failedRead) note('reads', new StoreFailure(message, { isFinal: false }));
  }

  return {
    readFailed(error, query) {
      if (!isEnvironment(error)) return error;
      failedRead = query;
      const failure = failureOf(error);
      note('reads', failure);
      return unavailable(failure);
    },
    writeFailed(error) {
      if (!(error instanceof AppError) || (error.code !== 50301 && error.code !== 50302)) return;
      hasWritten = false;
      const { cause } = error;
      if (cause instanceof StoreFailure && cause.isFinal) end(cause);
      else if (error.code === 50301 && !(cause instanceof StoreFailure))
        end(explain(cause, { path, isCommit: true }));
      look();
      // The same cause, which has been noted.
      if (ended || troubles.has('files')) return;
      if (cause instanceof StoreFailure) note('writes', cause);
      else if (isEnvironment(cause)) note('writes', failureOf(cause));
    },
    written() {
      hasWritten = true;
    },
    end,
    check() {
      look();
      const failure = ended ?? troubles.get('files') ?? troubles.get('reads');
      if (failure) throw failure;
    },
    refuseWrites() {
      if (troubles.has('files')) look();
      const failure = ended ?? troubles.get('files');
      if (failure) throw unavailable(failure);
    },
    stop() {
      clearInterval(timer);
      if (!ended) compareFiles();
      if (ended) throw ended;
    },
  };
}

function saveLog(db: DatabaseSync): boolean {
  try {
    const { busy, log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(FULL)').get() ?? {};
    return busy === 0 && log === checkpointed;
  } catch {
    return false;
  }
}
