import { randomBytes } from 'node:crypto';
import type { AccessStore } from '../../src/access/port.ts';
import { createIds, type Runtime, silentLog } from '../../src/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';

/** Gives the work an empty store of its own and a stopped clock. */
export async function withAccess(
  work: (parts: { store: AccessStore; runtime: Runtime }) => Promise<void>,
): Promise<void> {
  const clock = { now: () => Date.UTC(2026, 10, 21) };
  const runtime: Runtime = { clock, random: randomBytes, ids: createIds(clock, randomBytes), log: silentLog };
  const store = await openSqliteStore({
    path: ':memory:',
    writer: 'inline',
    clock,
    deliveryDelayMs: 0,
    onFatal(error) {
      throw error;
    },
  });
  try {
    await work({ store: store.access, runtime });
  } finally {
    await store.close();
  }
}
