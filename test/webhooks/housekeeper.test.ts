import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import { createIds, type Runtime, silentLog } from '../../src/runtime.ts';
import type { Lanes } from '../../src/store/lane-threads.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { type HousekeeperParts, startHousekeeper } from '../../src/webhooks/housekeeper.ts';
import type { ChoreStore } from '../../src/webhooks/port.ts';
import { lanesOf } from '../../testkit/stores/lanes.ts';

const BOUNDS = { slice: 3, pauseMs: 1, pollMs: 2, retentionEveryMs: 5 };
const DAY = 24 * 60 * 60 * 1000;
let now = Date.UTC(2026, 10, 21, 8);
const clock = { now: () => now };
const warnings: string[] = [];
const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) };
const runtime: Runtime = { clock, random: randomBytes, ids: createIds(clock, randomBytes), log };

let folder: string;
let store: Store;
let lanes: Lanes;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  store = await openSqliteStore({
    path: join(folder, 'store.db'),
    writer: 'thread',
    // Its queue measures with it: a jump would look like a stalled queue.
    clock: { now: Date.now },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  lanes = await lanesOf(store);
});
after(async () => {
  await lanes.close();
  await store.close();
  await rm(folder, { recursive: true });
});

/** A user with a webhook and this many new plants. */
async function newOwner(plants: number) {
  const user = await store.access.createUser({ name: runtime.ids.next('tok'), at: now });
  assert.ok(user);
  const owner = user.id;
  const webhook = runtime.ids.next('wh');
  const keys = { publicKey: 'whpk_x', privateKey: 'whsk_x', secrets: ['whsec_x'] };
  const shown = { url: 'https://example.com/', description: undefined, rate: undefined, createdAt: now };
  assert.ok(await store.webhooks.createWebhook({ id: webhook, owner, ...shown, ...keys }, 1));
  await addPlants(owner, plants);
  return { owner, webhook };
}

async function addPlants(owner: number, count: number): Promise<void> {
  const added = Array.from({ length: count }, () => {
    const plant = { owner, id: undefined, name: 'Alder', tag: undefined };
    return store.plants.create({ ...plant, event: runtime.ids.next('evt'), at: now });
  });
  await Promise.all(added);
}

/** Gives every due delivery a successful attempt. */
async function deliverAll(): Promise<void> {
  const attempt = {
    at: now,
    durationMs: 1,
    address: undefined,
    status: 204,
    excerpt: undefined,
    error: undefined,
  };
  const laneState = { pausedUntil: undefined, failingSince: undefined, disabledReason: undefined };
  for (const { webhook } of await lanes.store.findWork(undefined, 1000)) {
    const { settings, due } = await lanes.store.read({
      webhook,
      now,
      after: undefined,
      limit: 1000,
      askedLimit: 0,
    });
    assert.ok(settings);
    await lanes.store.record(
      due.map(({ event, generation, step }) => ({
        webhook,
        fence: 0,
        event: event.id,
        generation,
        step,
        attempt,
        reason: undefined,
        next: { state: 'delivered' },
        laneState: { ...laneState, generation: settings.generation },
        begins: undefined,
      })),
    );
  }
}

function replayAll(owner: number, webhook: string): Promise<boolean> {
  return store.deliveries.startReplay({ owner, webhook, from: 'evt_', state: undefined }, 10);
}

const waiting = async (webhook: string) => (await store.deliveries.health(webhook)).waiting;

async function eventsOf(owner: number): Promise<number> {
  const page = await store.events.events({ viewer: owner, after: undefined, limit: 1000 });
  return page?.events.length ?? 0;
}

/** Runs a housekeeper on the real store until the test ends, with some calls replaced; `slices` emits each slice. */
function start(t: TestContext, chores: Partial<ChoreStore> = {}) {
  const slices = new EventEmitter<{ advanced: []; expired: [] }>();
  const parts = { ...store.chores, ...chores };
  const housekeeper = startHousekeeper({
    store: {
      ...parts,
      async advance(slice) {
        const hasMoved = await parts.advance(slice);
        slices.emit('advanced');
        return hasMoved;
      },
      async removeExpired(request) {
        const position = await parts.removeExpired(request);
        slices.emit('expired');
        return position;
      },
    },
    runtime,
    retentionDays: 30,
    // The type has the usual numbers as literals; others work as well.
    bounds: BOUNDS as NonNullable<HousekeeperParts['bounds']>,
  });
  t.after(async () => {
    await housekeeper.stop();
    warnings.length = 0;
  });

  async function until(event: 'advanced' | 'expired', isDone: () => Promise<boolean>): Promise<void> {
    for (;;) {
      const next = once(slices, event);
      if (await isDone()) return;
      await next;
    }
  }
  return { housekeeper, slices, until };
}

/** Fails this many times, like an unavailable store, and then works. */
function failing<Args extends unknown[], T>(times: number, call: (...args: Args) => Promise<T>) {
  let left = times;
  return (...args: Args): Promise<T> => (left-- > 0 ? Promise.reject(new AppError(50302)) : call(...args));
}

const nothingLeft = async () => !(await store.chores.hasChores(now));

test('a replay is found and run, slice by slice', async (t) => {
  const { owner, webhook } = await newOwner(10);
  await deliverAll();
  const { slices, until } = start(t);
  let count = 0;
  slices.on('advanced', () => count++);
  await replayAll(owner, webhook);
  await until('advanced', nothingLeft);
  assert.equal(await waiting(webhook), 10);
  assert.equal(count, 4);
});

test("a deleted webhook's rows are removed, and others keep theirs", async (t) => {
  const [gone, other] = [await newOwner(10), await newOwner(10)];
  assert.equal(await waiting(gone.webhook), 10);
  await store.webhooks.deleteWebhook(gone.owner, gone.webhook);
  const { until } = start(t);
  await until('advanced', nothingLeft);
  assert.equal(await waiting(gone.webhook), 0);
  assert.equal(await eventsOf(gone.owner), 10);
  assert.equal(await waiting(other.webhook), 10);
});

test('events are removed when older than the retention, and not a moment before', async (t) => {
  const { owner } = await newOwner(7);
  await deliverAll();
  const { slices, until } = start(t);
  now += 30 * DAY;
  await addPlants(owner, 2);
  await deliverAll();
  for (let i = 0; i < 10; i++) await once(slices, 'expired');
  assert.equal(await eventsOf(owner), 9);
  now += 1;
  await until('expired', async () => (await eventsOf(owner)) === 2);
});

test('an event is kept while a delivery waits', async (t) => {
  const { owner, webhook } = await newOwner(7);
  now += 31 * DAY;
  const { slices, until } = start(t);
  for (let i = 0; i < 10; i++) await once(slices, 'expired');
  assert.equal(await eventsOf(owner), 7);
  assert.equal(await waiting(webhook), 7);
  await deliverAll();
  await until('expired', async () => (await eventsOf(owner)) === 0);
});

test('stopped midway it runs no further slice, and the next housekeeper continues', async (t) => {
  const { owner, webhook } = await newOwner(30);
  await deliverAll();
  await replayAll(owner, webhook);
  const first = start(t);
  await once(first.slices, 'advanced');
  await Promise.all([first.housekeeper.stop(), first.housekeeper.stop()]);
  const done = await waiting(webhook);
  assert.ok(done > 0 && done < 30, `${done} of 30`);
  assert.equal(await store.chores.hasChores(now), true);
  const second = start(t);
  await second.until('advanced', nothingLeft);
  assert.equal(await waiting(webhook), 30);
});

test('stopping waits for the running slice', async (t) => {
  const { owner, webhook } = await newOwner(1);
  await replayAll(owner, webhook);
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const { housekeeper } = start(t, {
    async advance(slice) {
      begun.resolve();
      await end.promise;
      return store.chores.advance(slice);
    },
  });
  await begun.promise;
  let isStopped = false;
  const stopping = housekeeper.stop().then(() => {
    isStopped = true;
  });
  await store.chores.hasChores(now);
  assert.equal(isStopped, false);
  end.resolve();
  await stopping;
  assert.equal(await store.chores.hasChores(now), false);
});

test('a store that fails for a while delays chores, and ends none', async (t) => {
  const { owner, webhook } = await newOwner(10);
  await deliverAll();
  await replayAll(owner, webhook);
  const { hasChores, advance, removeExpired } = store.chores;
  const { until } = start(t, {
    hasChores: failing(3, hasChores),
    advance: failing(3, advance),
    removeExpired: failing(3, removeExpired),
  });
  await until('advanced', nothingLeft);
  assert.equal(await waiting(webhook), 10);
  await deliverAll();
  now += 31 * DAY;
  await until('expired', async () => (await eventsOf(owner)) === 0);
  // Once for each of the two, however often it fails.
  assert.deepEqual(warnings.toSorted(), [
    'could not continue a replay or a removal; retrying',
    'could not remove expired events; retrying',
  ]);
});

test('a housekeeper can be stopped when the store never answers again', async (t) => {
  const down = () => Promise.reject(new AppError(50302));
  const { housekeeper } = start(t, { hasChores: down, advance: down, removeExpired: down });
  await housekeeper.stop();
});
