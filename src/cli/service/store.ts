import { join } from 'node:path';
import type { AccessStore } from '../../access/port.ts';
import { readStoreConfig, type StoreConfig, storePath } from '../../config/config.ts';
import type { DatabaseUrl } from '../../config/database-url.ts';
import { database as limits } from '../../limits.ts';
import { type Runtime, silentLog, systemRuntime } from '../../runtime.ts';
import { fileSize } from '../../store/sqlite/files/durable-files.ts';
import type { Store } from '../../store/store.ts';
import type { ChoreStore } from '../../webhooks/port.ts';
import { Failure } from '../failure.ts';
import { say } from '../terminal/terminal.ts';
import { onDatabase } from './database-failure.ts';
import { storeFailure } from './store-failure.ts';

export type StoreFlags = { dataDir?: string };

export type StoreParts = { store: AccessStore; chores: ChoreStore; runtime: Runtime };

/** Opens the store for the work; servers may be running on it. */
export async function withStore<T>(flags: StoreFlags, work: (parts: StoreParts) => Promise<T>): Promise<T> {
  const config = readStoreConfig(process.env, flags);
  const runtime = systemRuntime(silentLog);
  return onDatabase(config.databaseUrl, async () => {
    const { databaseUrl } = config;
    const store = await (databaseUrl ? openStoreIn(databaseUrl, config, runtime) : openFile(config, runtime));
    try {
      return await work({ store: store.access, chores: store.chores, runtime });
    } finally {
      await store.close();
    }
  });
}

async function openStoreIn(
  url: DatabaseUrl,
  { databasePooler }: StoreConfig,
  { clock, log }: Runtime,
): Promise<Store> {
  const [{ openPostgresStore }, { openDatabase }, { divisionOf }] = await Promise.all([
    import('../../store/postgres/store.ts'),
    import('../../store/postgres/engine/database.ts'),
    import('../../store/postgres/engine/migrate.ts'),
  ]);
  const pooled = databasePooler === 'transaction';
  const parts = { url, pooled, log, connections: limits.connectionsOfVerb };
  const database = openDatabase(parts);
  const division = await divisionOf(database).finally(database.close);
  if (division === undefined) {
    throw new Failure(
      `There is no store in the database ${url.shown}. Create one: plant-store migrate, or start the service: plant-store serve`,
    );
  }
  return openPostgresStore({
    ...parts,
    clock,
    deliveryDelayMs: 0,
    onMigration: (name) => say(`Migrated the schema: ${name}.`),
  });
}

async function openFile({ dataDir }: StoreConfig, runtime: Runtime): Promise<Store> {
  const path = storePath(dataDir);
  const [
    { refuseLostDatabase },
    { recoverStore },
    { lockForServing, lockUnlessServed },
    { openSqliteStore },
  ] = await Promise.all([
    import('../../store/sqlite/engine/connection.ts'),
    import('../../store/sqlite/files/durable-log.ts'),
    import('../../store/sqlite/files/lock.ts'),
    import('../../store/sqlite/store.ts'),
  ]);
  refuseLostDatabase(path);
  if (fileSize(path) === 0) {
    throw new Failure(
      `There is no store at ${path}. Pass its folder with --data-dir, or create one by starting the service: plant-store serve`,
    );
  }
  const lock = join(dataDir, 'serving.lock');
  let unlock: (() => void) | undefined;
  try {
    unlock = lockUnlessServed(lock);
    // A running server has done it.
    if (unlock) recoverStore(path);
    // From here on a server may start.
    unlock?.();
    unlock = undefined;
    return await openSqliteStore({
      path,
      writer: 'inline',
      clock: runtime.clock,
      // A running server of an older version would not understand the migrated store.
      beforeMigration() {
        unlock = lockForUpgrade(lock, lockForServing);
      },
      deliveryDelayMs: 0,
      // The write that causes it fails with the same error, which ends the verb.
      onFatal() {},
    });
  } catch (error) {
    throw storeFailure(error, dataDir);
  } finally {
    unlock?.();
  }
}

function lockForUpgrade(path: string, lock: (path: string) => () => void): () => void {
  try {
    return lock(path);
  } catch (cause) {
    throw new Failure(
      'The store is from an older version and must be migrated, but a server is running on it that would not understand it then. Stop that server first.',
      { cause },
    );
  }
}
