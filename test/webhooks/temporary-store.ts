import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';

/** A real store in a folder of its own, for one test file. */
export async function openTemporaryStore(): Promise<{ store: Store; drop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const store = await openSqliteStore({
    path: join(folder, 'store.db'),
    writer: 'thread',
    clock: { now: Date.now },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  return {
    store,
    async drop() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}
