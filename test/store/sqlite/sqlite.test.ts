import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { given } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import { storeConformance } from '../conformance/conformance.ts';

const clock = { now: Date.now };

storeConformance({
  name: 'SQLite',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const path = join(folder, 'plant-store.db');
    const store = await openSqliteStore({
      path,
      writer: 'thread',
      clock,
      deliveryDelayMs: 0,
      onFatal(error) {
        throw error;
      },
    });
    const lanes = await lanesOf(store);
    return {
      store,
      lanes: lanes.store,
      async change(sql) {
        const db = new DatabaseSync(path, { timeout: 5000 });
        db.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`);
        db.close();
        // Reads in one turn of the event loop share a snapshot.
        await setImmediate();
      },
      async drop() {
        await lanes.close();
        await store.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
});

test('the newest event is known, so that ids continue after it', async () => {
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

test('commands of the main thread and the sender thread take turns', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'plant-store.db');
  const store = await openSqliteStore({
    path,
    writer: 'thread',
    clock,
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  const sender = await lanesOf(store);
  t.after(async () => {
    await sender.close();
    await store.close();
    rmSync(folder, { recursive: true });
  });
  const { user, create } = given(store);
  const { id: owner } = await user();
  const counts = { main: 0, sender: 0 };
  const most = { main: 0, sender: 0 };
  let isOver = false;
  /** Always keeps a command waiting; counts those that run while the other thread's waits. */
  async function repeat(mine: keyof typeof counts, others: keyof typeof counts, act: () => Promise<unknown>) {
    while (!isOver) {
      const before = counts[others];
      await act();
      most[others] = Math.max(most[others], counts[others] - before);
      counts[mine]++;
    }
  }
  const rounds = async () => {
    while (Math.min(counts.main, counts.sender) < 200) await setImmediate();
    isOver = true;
  };
  await Promise.all([
    repeat('main', 'sender', () => create(owner)),
    repeat('sender', 'main', () => sender.store.suspect('wh_0', 'evt_0', 0)),
    rounds(),
  ]);
  // More than one only while the other thread's next command is on its way.
  assert.ok(Math.max(most.main, most.sender) < 50, JSON.stringify(most));
});
