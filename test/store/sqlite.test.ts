import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { storeConformance } from './conformance.ts';
import { given } from './given.ts';

for (const writer of ['thread', 'inline'] as const) {
  storeConformance({
    name: `SQLite (${writer})`,
    async open() {
      const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
      const path = join(folder, 'plant-store.db');
      const store = await openSqliteStore({
        path,
        writer,
        clock: { now: Date.now },
        deliveryDelayMs: 0,
        onFatal(error) {
          throw error;
        },
      });
      return {
        store,
        async change(sql) {
          const db = new DatabaseSync(join(folder, 'plant-store.db'), { timeout: 5000 });
          db.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`);
          db.close();
          // Reads of one turn of the event loop are of one moment.
          await setImmediate();
        },
        async drop() {
          await store.close();
          rmSync(folder, { recursive: true });
        },
      };
    },
  });
}

test('the newest event is known, so that ids go on behind it', async () => {
  const clock = { now: Date.now };
  const store = await openSqliteStore({
    path: ':memory:',
    writer: 'inline',
    clock,
    deliveryDelayMs: 0,
    onFatal(error) {
      throw error;
    },
  });
  const { ids, user, create } = given(store);
  const { id: owner } = await user();
  const event = ids.next('evt');
  await create(owner, undefined, { event });
  assert.equal(store.latestEvent(), event);
  await store.close();
});
