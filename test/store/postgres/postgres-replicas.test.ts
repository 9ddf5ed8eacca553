import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { createFirstToken } from '../../../src/access/bootstrap.ts';
import type { Caller } from '../../../src/idempotency/port.ts';
import { silentLog, systemRuntime } from '../../../src/runtime.ts';
import type { Lanes } from '../../../src/store/lane-threads.ts';
import { FEED_TX } from '../../../src/store/postgres/deliveries/events.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { AT, type Given, given } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import {
  administer,
  fencesOf,
  makeStoreDatabase,
  openStoreIn,
  type TestDatabase,
} from '../../../testkit/stores/postgres.ts';

const PATIENCE_MS = 20_000;

describe('two replicas on one database', () => {
  let database: TestDatabase;
  let one: Given;
  let other: Given;
  /** The lanes of the other replica, which alone sends. */
  let lanes: Lanes;

  before(async () => {
    database = await makeStoreDatabase();
    one = given(await open());
    const store = await open();
    lanes = await lanesOf(store);
    other = given(store, { lanes: lanes.store, fenceOf: fencesOf(lanes) });
  });
  after(async () => {
    await lanes.close();
    await one.store.close();
    await other.store.close();
    await database.drop();
  });

  const open = () => openStoreIn(database.url);

  test('only one of them creates the first token', async () => {
    const runtime = systemRuntime(silentLog);
    const first = ({ store: { access } }: Given) => createFirstToken({ store: access, runtime });
    const tokens = await Promise.all([one, other].map(first));
    assert.equal(tokens.filter((token) => token !== undefined).length, 1);
    assert.equal((await one.store.access.tokens()).length, 1);
  });

  /** A hint that is sent before somebody listens is lost. */
  async function bothListen(): Promise<true | undefined> {
    const { rows } = await administer(
      database.url,
      `SELECT 1
       FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'plant-store hints'
         AND query IN ('LISTEN plant_store', 'SELECT 1') AND state = 'idle'`,
    );
    return rows.length === 2 || undefined;
  }

  test("one replica's due deliveries are hinted to the other", async () => {
    const { owner, hook } = await one.subscriber(0);
    await eventually('listening replicas', bothListen);
    const told = new Promise<unknown>((resolve) =>
      other.lanes().listen(({ work }) => {
        const found = work.find(({ webhook }) => webhook === hook);
        if (found) resolve(found);
      }),
    );
    await one.create(owner);
    assert.deepEqual(await told, { webhook: hook, due: AT });
    assert.equal((await other.due(hook)).length, 1);
  });

  test('ids that both assign to one user concurrently are different, without gaps', async () => {
    const { id: owner } = await one.user();
    const create = async (replica: Given): Promise<bigint[]> => {
      const ids: bigint[] = [];
      for (let n = 0; n < 20; n++) {
        const batch = Array.from({ length: 5 }, () =>
          replica.store.plants.create(replica.plant(owner), by(owner)),
        );
        for (const outcome of await Promise.all(batch)) if (typeof outcome === 'bigint') ids.push(outcome);
      }
      return ids;
    };
    const ids = (await Promise.all([one, other].map(create))).flat();
    assert.deepEqual(
      ids.toSorted((a, b) => Number(a - b)),
      Array.from({ length: 200 }, (_, n) => BigInt(n + 1)),
    );
    assert.deepEqual(await one.walk(owner, 50), await other.walk(owner, 50));
  });

  test('a reader who follows the feed while both write gets everything exactly once', async () => {
    const { id: owner } = await one.user();
    const created: bigint[] = [];
    const creators = Array.from({ length: 12 }, async (_, n) => {
      for (let i = 0; i < 20; i++)
        created.push(await (n % 2 ? one : other).create(owner, BigInt(100 * n + i)));
    });
    const seen: bigint[] = [];
    let position: string | undefined;
    const all = Promise.all(creators);
    for (const late = performance.now() + PATIENCE_MS; seen.length < 240; await setImmediate()) {
      assert.ok(performance.now() < late, `${seen.length} of 240 were seen`);
      const page = await other.store.events.events({ viewer: owner, after: position, limit: 7 });
      assert.ok(page);
      seen.push(...page.events.map(({ plant }) => plant.id));
      position = page.next;
    }
    await all;
    assert.deepEqual(await other.store.events.latestPosition(owner), position);
    assert.equal(new Set(seen).size, 240);
    assert.deepEqual(new Set(seen), new Set(created));
  });

  test('an event waits for those of older transactions, and follows them', async () => {
    const { id: owner } = await one.user();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const feed = async () => {
      const page = await one.store.events.events({ viewer: owner, after: undefined, limit: 5 });
      return page?.events.map(({ plant }) => plant.id);
    };
    await client.query('BEGIN');
    await client.query('SELECT pg_current_xact_id()');
    await one.create(owner, 2n);
    const told = new Promise<void>((resolve) =>
      other.store.events.onEvents((owners) => owners.includes(owner) && resolve()),
    );
    assert.deepEqual(await feed(), []);
    const end = await one.store.events.latestPosition(owner);
    // Like another replica, whose event ids may be greater.
    await client.query(
      `INSERT INTO events (owner, id, tx, type, plant, name, created_at)
       VALUES ($1, 'evt_z', ${FEED_TX}, 'plant.created', 1, 'Alder', 0)`,
      [owner],
    );
    await client.query('COMMIT');
    await client.end();
    await told;
    assert.deepEqual(await feed(), [1n, 2n]);
    const page = await other.store.events.events({ viewer: owner, after: end, limit: 5 });
    assert.equal(page?.events.length, 2);
  });

  test('followers learn of an event once it is in the feed', async () => {
    const { id: owner } = await one.user();
    const told = new Promise<void>((resolve) =>
      other.store.events.onEvents((owners) => owners.includes(owner) && resolve()),
    );
    await one.create(owner);
    await told;
    const page = await other.store.events.events({ viewer: owner, after: undefined, limit: 5 });
    assert.equal(page?.events.length, 1);
  });

  test('a follower at a replica that has not heard of a share misses none of its events', async () => {
    const [ann, bob] = [await one.user(), await one.user()];
    // Hears of access once a second only.
    const deaf = await openStoreIn(database.url, { pooled: true });
    try {
      const after = await deaf.events.latestPosition(bob.id);
      await deaf.access.visibleOwners(bob.id);
      await one.store.access.addShare({ owner: ann.name, viewer: bob.name, at: AT }, 10);
      await one.create(ann.id, 1n);
      await one.create(bob.id, 2n);
      const seen: bigint[] = [];
      for (let position = after; seen.at(-1) !== 2n; await setImmediate()) {
        const page = await deaf.events.events({ viewer: bob.id, after: position, limit: 5 });
        assert.ok(page);
        seen.push(...page.events.map(({ plant }) => plant.id));
        position = page.next;
      }
      assert.deepEqual(seen, [1n, 2n]);
    } finally {
      await deaf.close();
    }
  });

  test('a chore runs once, on whichever replica', async () => {
    const { owner, hook } = await one.subscriber(20);
    await other.attemptAll(hook);
    await one.store.deliveries.startReplay({ owner, webhook: hook, from: 'evt_0', state: undefined }, 10);
    await Promise.all([one.finishChores(), other.finishChores()]);
    assert.equal((await other.due(hook)).length, 20);
  });
});

/** A caller, as in a request. */
function by(user: number): Caller {
  return { user, hasLeft: () => false, once: undefined };
}
