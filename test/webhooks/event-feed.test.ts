import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { firstId, silentLog, systemRuntime } from '../../src/runtime.ts';
import type { Store } from '../../src/store/store.ts';
import {
  createEventHub,
  type EventHub,
  type FollowParts,
  followEvents,
  listEvents,
} from '../../src/webhooks/event-feed.ts';
import { openTemporaryStore } from '../../testkit/stores/temporary-store.ts';

const runtime = systemRuntime(silentLog);
let store: Store;
let drop: () => Promise<void>;
let hub: EventHub;

before(async () => {
  ({ store, drop } = await openTemporaryStore());
  hub = createEventHub(store.events);
});
after(() => drop());

async function newViewer(): Promise<number> {
  const user = await store.access.createUser({ name: runtime.ids.next('tok'), at: 0 });
  assert.ok(user);
  return user.id;
}

async function plant(owner: number, ...ids: bigint[]): Promise<void> {
  for (const id of ids) {
    const event = runtime.ids.next('evt');
    await store.plants.create({ owner, id, name: 'Alder', tag: undefined, event, at: runtime.clock.now() });
  }
}

/** A follower from now on that waits forever for anything a test does not provide. */
async function follow(viewer: number, parts: Partial<FollowParts> = {}) {
  const ending = new AbortController();
  const followed = followEvents({
    events: store.events,
    hub,
    viewer,
    after: await store.events.latestPosition(viewer),
    signal: ending.signal,
    isAdmitted: async () => true,
    visibleOwners: store.access.visibleOwners,
    ...parts,
    bounds: { page: 100, pollMs: 3_600_000, heartbeatMs: 3_600_000, ...parts.bounds },
  });
  return {
    followed,
    async end() {
      ending.abort();
      await followed.return();
    },
    /** The plant ids of the next part; undefined at the end. */
    async next() {
      const { value } = await followed.next();
      return value ? value.map(({ plant: { id } }) => id) : undefined;
    },
  };
}

test('a follower is woken only by events its viewer may see', async () => {
  const [viewer, other] = [await newViewer(), await newViewer()];
  let looks = 0;
  const { next, end } = await follow(viewer, { isAdmitted: async () => ++looks > 0 });
  const first = next();
  await plant(other, 1n, 2n, 3n);
  await plant(viewer, 7n);
  assert.deepEqual(await first, [7n]);
  assert.equal(looks, 2);
  await end();
  assert.equal(await next(), undefined);
});

test('an event without a hint is found by polling', async () => {
  const viewer = await newViewer();
  const deaf = createEventHub({ onEvents() {} });
  const { next, end } = await follow(viewer, { hub: deaf, bounds: { pollMs: 10 } });
  const first = next();
  await plant(viewer, 7n);
  assert.deepEqual(await first, [7n]);
  await end();
});

test('an event that arrives while the previous part is read is not missed', async () => {
  const viewer = await newViewer();
  const { next, end } = await follow(viewer);
  const first = next();
  await plant(viewer, 1n);
  assert.deepEqual(await first, [1n]);
  await plant(viewer, 2n, 3n);
  assert.deepEqual(await next(), [2n, 3n]);
  await end();
});

test('a large backlog is read in parts', async () => {
  const viewer = await newViewer();
  const after = await store.events.latestPosition(viewer);
  await plant(viewer, 1n, 2n, 3n, 4n, 5n);
  const { next, end } = await follow(viewer, { after, bounds: { page: 2 } });
  assert.deepEqual([await next(), await next(), await next()], [[1n, 2n], [3n, 4n], [5n]]);
  await end();
});

test('a quiet stream has empty parts, a busy one has none', async () => {
  const viewer = await newViewer();
  const { next, end } = await follow(viewer, { bounds: { heartbeatMs: 20 } });
  assert.deepEqual([await next(), await next()], [[], []]);
  await end();

  const busy = await follow(viewer, { bounds: { heartbeatMs: 10_000 } });
  for (let id = 1n; id <= 20n; id++) {
    const part = busy.next();
    await plant(viewer, id);
    assert.deepEqual(await part, [id]);
  }
  await busy.end();
});

test('a waiting follower can be ended at once', async () => {
  const { next, end } = await follow(await newViewer());
  const waiting = next();
  await end();
  assert.equal(await waiting, undefined);
});

test('a follower that is no longer admitted sees nothing more', async () => {
  const viewer = await newViewer();
  let isAdmitted = true;
  const { next } = await follow(viewer, { isAdmitted: async () => isAdmitted });
  const first = next();
  await plant(viewer, 1n);
  assert.deepEqual(await first, [1n]);
  isAdmitted = false;
  await plant(viewer, 2n);
  assert.equal(await next(), undefined);
});

test('a follower unsubscribes from the hub, however it ended', async () => {
  const viewer = await newViewer();
  let watching = 0;
  const counting: EventHub = {
    watcher(wake) {
      const watch = hub.watcher(wake);
      return (owners) => {
        watching = owners.length;
        watch(owners);
      };
    },
  };
  const broken = await follow(viewer, {
    hub: counting,
    isAdmitted: () => Promise.reject(new Error('broken')),
  });
  await assert.rejects(broken.next(), /broken/);
  const left = await follow(viewer, { hub: counting });
  const part = left.next();
  await plant(viewer, 1n);
  await part;
  assert.equal(watching, 1);
  await left.followed.return();
  assert.equal(watching, 0);
});

test('a watcher is woken for the users last given to it, and for no other', () => {
  let tell = (_owners: readonly number[]) => {};
  const { watcher } = createEventHub({
    onEvents(listener) {
      tell = listener;
    },
  });
  let woken = 0;
  const watch = watcher(() => woken++);
  const wokenBy = (owner: number) => {
    woken = 0;
    tell([owner]);
    return woken;
  };
  watch([1, 2]);
  assert.deepEqual([1, 2, 3].map(wokenBy), [1, 1, 0]);
  watch([2, 3]);
  assert.deepEqual([1, 2, 3].map(wokenBy), [0, 1, 1]);
  watch([]);
  assert.deepEqual([1, 2, 3].map(wokenBy), [0, 0, 0]);
});

test('a position after which events have expired is refused, and ends a follower', async () => {
  const viewer = await newViewer();
  const beginning = await store.events.latestPosition(viewer);
  await plant(viewer, 1n, 2n);
  const position = await store.events.latestPosition(viewer);
  const all = await store.events.events({ viewer, after: undefined, limit: 10 });
  assert.equal(all?.events.length, 2);

  const later = firstId('evt', runtime.clock.now() + 1000);
  for (let from: { owner: number; event: string } | undefined = { owner: viewer, event: '' }; from; ) {
    from = await store.chores.removeExpired({ before: later, from, limit: 500 });
  }
  const query = { viewer, limit: 10 };
  await assert.rejects(listEvents(store, { ...query, after: beginning }), { code: 40007 });
  const late = await follow(viewer, { after: beginning });
  assert.equal(await late.next(), undefined);

  // One that has seen them all continues.
  await plant(viewer, 3n);
  const page = await listEvents(store, { ...query, after: position });
  assert.deepEqual(
    page.events.map(({ plant: { id } }) => id),
    [3n],
  );
  assert.equal((await listEvents(store, { ...query, after: undefined })).events.length, 1);
});
