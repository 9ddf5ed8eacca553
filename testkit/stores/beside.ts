import { storePath } from '../../src/config/config.ts';
import { type Runtime, silentLog, systemRuntime } from '../../src/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';

export type Parts = { store: Store; runtime: Runtime };

/** Opens the store in a folder like the command line, even if a service runs on it. */
export async function openBeside(dataDir: string): Promise<Parts> {
  const runtime = systemRuntime(silentLog);
  const store = await openSqliteStore({
    path: storePath(dataDir),
    writer: 'inline',
    clock: runtime.clock,
    deliveryDelayMs: 0,
    onFatal(error) {
      throw error;
    },
  });
  return { store, runtime };
}
