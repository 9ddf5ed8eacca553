import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { keptLists } from '../../../src/plants/kept-lists.ts';
import type { PlantPage, PlantStore } from '../../../src/plants/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { given } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import { type Adapter, storeConformance } from '../conformance/conformance.ts';

const clock = { now: Date.now };

/** The bytes of kept lists: more than all take, hardly one, none. */
for (const most of [Infinity, 1_500, 0]) storeConformance(sqlite(most));

function sqlite(most: number): Adapter {
  return { name: `SQLite, with at most ${most} bytes of kept lists,`, open: () => openKeeping(most) };
}

async function openKeeping(most: number): ReturnType<Adapter['open']> {
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
  const plants = keeping(store.plants, most);
  const lanes = await lanesOf(store);
  return {
    store: { ...store, plants: plants.kept },
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
      assert.equal(plants.found() > 0, most > 0);
    },
  };
}

/** Keeps every page, answers with what is kept, and compares that with what the store has. */
function keeping(plants: PlantStore, most: number) {
  const lists = keptLists<PlantPage>(plants.stamp, most);
  let found = 0;
  const kept: PlantStore = {
    ...plants,
    async page(query) {
      const key = inspect(query, { depth: null, maxArrayLength: null, maxStringLength: null });
      const find = async () => {
        // Both at once: another write may follow while they are awaited.
        const [known, page] = await Promise.all([lists.find(query.viewer, key), plants.page(query)]);
        if (!known) return undefined;
        assert.deepEqual(known, page);
        found++;
        return known;
      };
      const known = await find();
      if (known) return known;
      // Kept from the second time on.
      await lists.read(query.viewer, key, () => plants.page(query));
      const reading = lists.read(query.viewer, key, () => plants.page(query));
      await find();
      const page = await reading;
      return (await find()) ?? page;
    },
  };
  return { kept, found: () => found };
}

test('the newest event is known even when it was removed, so that ids continue after it', async () => {
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
  // The clock may have been set back since, to before the removed event.
  await store.chores.removeExpired({ before: ids.next('evt'), from: undefined, limit: 10 });
  assert.deepEqual((await store.events.events({ viewer: owner, after: undefined, limit: 10 }))?.events, []);
  assert.equal(store.latestEvent(), event);
  await store.close();
});

test('after the clock was set back, a rotated secret signs until its time has come', async (t) => {
  const opened = await openKeeping(0);
  t.after(opened.drop);
  const { store, subscriber, due } = given(opened.store, opened);
  const { owner, hook } = await subscriber(1);
  const now = Date.now();
  const rotation = { secret: 'whsec_y', at: now, overlapUntil: now + 3_600_000, most: 3 };
  await store.webhooks.rotateSecret(owner, hook, rotation);
  // Due times continue from before the step.
  const [made] = await due(hook, { now: now + 2 * 3_600_000 });
  assert.deepEqual(made?.webhook.secrets, ['whsec_y', 'whsec_x']);
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
    repeat('sender', 'main', () => sender.store.suspect('wh_0', 'evt_0', 0, 1)),
    rounds(),
  ]);
  // More than one only while the other thread's next command is on its way.
  assert.ok(Math.max(most.main, most.sender) < 50, JSON.stringify(most));
});

test('a page that cannot be read counts as unreadable until it can be, though others are in memory', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const path = join(folder, 'plant-store.db');
  const said: string[] = [];
  const say = (_details: object, message: string) => void said.push(message);
  const store = await openSqliteStore({
    path,
    writer: 'thread',
    clock,
    deliveryDelayMs: 0,
    log: { debug: say, info: say, warn: say, error: say },
    onFatal: assert.ifError,
  });
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  // Another connection commits, so the store's reads the file again.
  const db = new DatabaseSync(path);
  db.exec(`UPDATE meta SET value = value + 1 WHERE name = 'access_epoch'; PRAGMA wal_checkpoint(FULL)`);
  const place = db
    .prepare(`SELECT (rootpage - 1) * page_size AS at, page_size AS bytes
      FROM sqlite_schema, pragma_page_size WHERE name = 'meta'`)
    .get();
  db.close();
  const [at, bytes] = [Number(place?.at), Number(place?.bytes)];
  const fd = openSync(path, 'r+');
  const page = Buffer.alloc(bytes);
  readSync(fd, page, 0, bytes, at);
  writeSync(fd, Buffer.alloc(bytes, 0xa5), 0, bytes, at);

  await setImmediate();
  for (let i = 0; i < 3; i++) assert.throws(() => store.check());
  assert.equal(said.length, 1);
  assert.match(said[0] ?? '', /cannot be used/);

  writeSync(fd, page, 0, bytes, at);
  closeSync(fd);
  store.check();
  assert.equal(said.length, 2);
  assert.equal(said[1], 'the store is readable again');
});

test('the deliveries of many former viewers are dropped in one slice if they are few', async (t) => {
  const opened = await openKeeping(0);
  t.after(opened.drop);
  const { store } = opened;
  const { user, webhook, create } = given(store);
  const owner = await user();
  for (let n = 0; n < 3; n++) {
    const viewer = await user();
    await webhook(viewer.id);
    await store.access.addShare({ owner: owner.name, viewer: viewer.name, at: 0 }, 10);
  }
  await create(owner.id);
  await create(owner.id);
  await store.access.deleteUser(owner.name, 0);
  // Three webhooks with two deliveries each.
  await store.chores.advance({ now: 0, limit: 7 });
  assert.equal(await store.chores.hasChores(0), false);
});

test('a page of the deliveries of many webhooks reads few rows more than it shows', async (t) => {
  const { store, drop } = await openKeeping(0);
  t.after(drop);
  const { user, webhook, create } = given(store);
  const { id: owner } = await user();
  for (let n = 0; n < 20; n++) await webhook(owner);
  for (let n = 0; n < 20; n++) await create(owner);
  let read = 0;
  const { all } = StatementSync.prototype;
  t.mock.method(
    StatementSync.prototype,
    'all',
    function (this: StatementSync, ...values: Parameters<StatementSync['all']>) {
      const rows = all.apply(this, values);
      read += rows.filter((row) => 'attempts' in row).length;
      return rows;
    },
  );
  const query = { owner, webhook: undefined, events: undefined, from: '', after: undefined, limit: 5 };
  for (const state of [undefined, 'pending'] as const) {
    read = 0;
    assert.equal((await store.deliveries.page({ ...query, state })).length, 5);
    assert.ok(read <= 10, `${state}: ${read} rows`);
  }
});
