import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import type { LaneStore } from '../../src/webhooks/delivery/port.ts';
import { lanesOf } from './lanes.ts';

/** A real store in its own folder, for one test file. */
export async function openTemporaryStore(): Promise<{
  store: Store;
  lanes: LaneStore;
  path: string;
  drop(): Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'store.db');
  const store = await openSqliteStore({
    path,
    writer: 'thread',
    clock: { now: Date.now },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  const lanes = await lanesOf(store);
  return {
    store,
    lanes: lanes.store,
    path,
    async drop() {
      await lanes.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}
