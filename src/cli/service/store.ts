import type { AccessStore } from '../../access/port.ts';
import { readStoreConfig, type StoreConfig } from '../../config/config.ts';
import type { DatabaseUrl } from '../../config/database-url.ts';
import { database as limits } from '../../limits.ts';
import { type Runtime, silentLog, systemRuntime, timedBy } from '../../runtime.ts';
import type { Store } from '../../store/store.ts';
import type { ChoreStore } from '../../webhooks/port.ts';
import { Failure } from '../failure.ts';
import { say, shellWord } from '../terminal/terminal.ts';
import { onDatabase } from './database-failure.ts';
import { storeFailure } from './store-failure.ts';

export type StoreFlags = { dataDir?: string };

/** For a command in a message: copied without it, it could work on another store. `restore` would even create one. */
export function onStore({ dataDir }: StoreFlags): string {
  return dataDir === undefined ? '' : ` --data-dir ${shellWord(dataDir)}`;
}

export type StoreParts = { store: AccessStore; chores: ChoreStore; runtime: Runtime };

/** Opens the store for the work; servers may be running on it. */
export async function withStore<T>(flags: StoreFlags, work: (parts: StoreParts) => Promise<T>): Promise<T> {
  const config = readStoreConfig(process.env, flags);
  const runtime = systemRuntime(silentLog);
  const { databaseUrl } = config;
  return onDatabase(databaseUrl, async () => {
    const store = databaseUrl
      ? await openStoreIn(databaseUrl, config, runtime)
      : await (await import('./embedded-store.ts')).openEmbeddedStore(config.dataDir, runtime.clock);
    try {
      const { access, chores, clock } = store;
      return await work({ store: access, chores, runtime: timedBy(clock, runtime) });
    } catch (error) {
      throw databaseUrl ? error : storeFailure(error, config.dataDir);
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
    onWait: sayMigrationWaits,
  });
}

export function sayMigrationWaits(): void {
  say(
    'The migration waits for another transaction, such as pg_dump or another migration, and retries until it ends.',
  );
}
