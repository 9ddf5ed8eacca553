import { type Flags, readStoreConfig, servingLock, storePath } from '../../config/config.ts';
import { processes } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import { refuseLostDatabase } from '../../store/sqlite/engine/connection.ts';
import { fileSize } from '../../store/sqlite/files/durable-files.ts';
import { recoverStore } from '../../store/sqlite/files/durable-log.ts';
import { lockUnlessServed, tryLock } from '../../store/sqlite/files/lock.ts';
import { DamagedStore } from '../../store/sqlite/files/whole-store.ts';
import type { Store } from '../../store/store.ts';
import { Failure } from '../failure.ts';
import { sqliteWords, storeFailure } from './store-failure.ts';
import { systemReason } from './system-failure.ts';

export type EmbeddedStore = { dataDir: string; path: string };

/** @param verb for the message when the store is in a database instead */
export function embeddedStore(flags: Flags, verb: 'backup' | 'restore'): EmbeddedStore {
  const { databaseUrl, dataDir } = readStoreConfig(process.env, flags);
  if (databaseUrl) {
    throw new Failure(
      `DATABASE_URL is set: the store is in the database ${databaseUrl.shown}, and ${verb} works only on a data folder. ` +
        'Use pg_dump and pg_restore, or point-in-time recovery: the documentation explains both in "Run on PostgreSQL".',
    );
  }
  return { dataDir, path: storePath(dataDir) };
}

/** Opens the store in a data folder; servers may be running on it. */
export async function openEmbeddedStore(dataDir: string, clock: Clock): Promise<Store> {
  const path = storePath(dataDir);
  // Only here: `backup`, `restore` and `copy` need no store.
  const { openSqliteStore } = await import('../../store/sqlite/store.ts');
  using migrating = new DisposableStack();
  try {
    refuseLostDatabase(path);
    if (fileSize(path) === 0) {
      throw new Failure(
        `There is no store at ${path}. Pass its folder with --data-dir, or create one by starting the service: plant-store serve`,
      );
    }
    recoverUnlessServed(path, dataDir);
    return await openSqliteStore({
      path,
      writer: 'inline',
      clock,
      beforeMigration() {
        const refusal =
          'The store must be migrated, but a server or another command is using it. If that is migrating it, wait; if it is a server of the older version, stop it first.';
        migrating.use(lockAgainstServers(dataDir, refusal));
      },
      deliveryDelayMs: 0,
      // The write that causes it fails with the same error, which ends the verb.
      onFatal() {},
    });
  } catch (error) {
    throw storeFailure(error, dataDir);
  }
}

/** Afterwards a server may start. */
function recoverUnlessServed(path: string, dataDir: string): void {
  using lock = lockUnlessServed(servingLock(dataDir));
  // A running server has done it.
  if (lock) recoverStore(path);
}

/**
 * Keeps servers off a data folder until its disposal.
 * @param refusal why the verb fails while a server runs there, and what to do
 */
export function lockAgainstServers(dataDir: string, refusal: string): Disposable {
  try {
    const lock = tryLock(servingLock(dataDir), processes.lockWaitMs);
    if (lock) return lock;
  } catch (cause) {
    throw fileFailure(cause, `The data folder ${dataDir} cannot be used`);
  }
  throw new Failure(refusal);
}

/**
 * Explains a failure of a disk, a file or its content in one line. Returns any other error unchanged.
 * @param what could not be done, as the start of a sentence
 */
export function fileFailure(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || error instanceof Failure) return error;
  if (error instanceof DamagedStore) return new Failure(`${what}: ${error.message}`, { cause: error });
  const reason = sqliteWords(error)?.[0] ?? systemReason(error);
  return reason === undefined ? error : new Failure(`${what}: ${reason}.`, { cause: error });
}

/** @param what as for `fileFailure` */
export function onFiles<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileFailure(error, what);
  }
}
