import { existsSync } from 'node:fs';
import type { AccessStore } from '../access/port.ts';
import { readDataDir, storePath } from '../config.ts';
import { type Runtime, silentLog, systemRuntime } from '../runtime.ts';
import { Failure } from './failure.ts';

/** What every verb that works on the store takes. */
export type StoreFlags = { dataDir?: string };

/** Opens the store, beside a running server if there is one, for as long as the work takes. */
export async function withStore<T>(
  flags: StoreFlags,
  work: (parts: { store: AccessStore; runtime: Runtime }) => Promise<T>,
): Promise<T> {
  const path = storePath(readDataDir(process.env, flags));
  if (!existsSync(path)) {
    throw new Failure(
      `There is no store at ${path}. Name its folder with --data-dir, or make one by starting the service: plant-store serve`,
    );
  }
  const { openSqliteStore } = await import('../store/sqlite/store.ts');
  const runtime = systemRuntime(silentLog);
  const store = await openSqliteStore({
    path,
    writer: 'inline',
    clock: runtime.clock,
    deliveryDelayMs: 0,
    // The write that met it fails with the same error, which ends the verb.
    onFatal() {},
  });
  try {
    return await work({ store: store.access, runtime });
  } finally {
    await store.close();
  }
}
