import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import type { Caller } from '../../../src/idempotency/port.ts';
import type { PlantId } from '../../../src/plants/plant.ts';
import type { NewPlant } from '../../../src/plants/port.ts';
import { silentLog } from '../../../src/runtime.ts';
import type { Lanes } from '../../../src/store/lane-threads.ts';
import { type Database, openDatabase, statement } from '../../../src/store/postgres/engine/database.ts';
import { batched, type Command, createWriter } from '../../../src/store/postgres/engine/writer.ts';
import { creates } from '../../../src/store/postgres/plants/creates.ts';
import { deletes } from '../../../src/store/postgres/plants/plant-deletes.ts';
import type { PostgresOptions } from '../../../src/store/postgres/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { AT, type Due, type Given, given, outcomeOf } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import {
  administer,
  fencesOf,
  makeStoreDatabase,
  openStoreIn,
  type TestDatabase,
} from '../../../testkit/stores/postgres.ts';

const PATIENCE_MS = 10_000;

/** Two replicas write at the same moment. The server resolves no deadlock here, so the writes of one fail. */
describe('writes of several replicas at once', () => {
  let database: TestDatabase;
  let replica: Given;
  let second: Store;
  /** The lanes of the replica, which sends. */
  let lanes: Lanes;
  /** A session besides those of the stores. */
  let session: pg.Client;
  let watcher: pg.Client;
  const opened: Pick<Store, 'close'>[] = [];
  /** Logged in beforehand: the second write of a test starts while the first one waits for a lock, at most 2 s. */
  const idle: Database[] = [];

  before(async () => {
    database = await makeStoreDatabase();
    const { pathname } = new URL(database.url);
    await administer(database.url, `ALTER DATABASE ${pathname.slice(1)} SET deadlock_timeout = '1min'`);
    const store = await open();
    lanes = await lanesOf(store);
    opened.unshift(lanes);
    replica = given(store, { lanes: lanes.store, fenceOf: fencesOf(lanes) });
    second = await open();
    session = await connect();
    watcher = await connect();
    for (let n = 0; n < 2; n++) idle.push(await openWay());
  });
  after(async () => {
    await session.end();
    await watcher.end();
    for (const one of opened) await one.close();
    await database.drop();
  });

  async function open(more: Partial<PostgresOptions> = {}): Promise<Store> {
    const store = await openStoreIn(database.url, more);
    opened.push(store);
    return store;
  }

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    return client;
  }

  /** Runs commands as one batch, like another replica. */
  async function write(...commands: Command[]): Promise<readonly unknown[]> {
    const way = idle.pop() ?? (await openWay());
    return createWriter(way, async () => {})(commands, () => true).finally(() => idle.push(way));
  }

  async function openWay(): Promise<Database> {
    const url = parseDatabaseUrl(database.url);
    const way = openDatabase({ url, connections: 1, pooled: false, log: silentLog });
    opened.push(way);
    await way.read(statement`SELECT 1`);
    return way;
  }

  /** Waits until this many sessions wait for a lock. */
  async function waiting(count: number): Promise<void> {
    for (const late = performance.now() + PATIENCE_MS; performance.now() < late; await pause(5)) {
      const { rows } = await watcher.query(
        `SELECT pid
         FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      if (rows.length === count) return;
    }
    throw new Error(`not ${count} sessions wait for a lock`);
  }

  const limited = creates({ deliveryDelayMs: 0, maxPlantsPerUser: 10 });
  const unlimited = creates({ deliveryDelayMs: 0 });
  const create = (owner: number, more: Partial<NewPlant> = {}, kind = unlimited) =>
    batched(kind, { plant: replica.plant(owner, more), caller: by(owner) });
  const remove = (owner: number, id: PlantId) => batched(deletes, { owner, id, caller: by(owner) });

  test('creates and deletes of the same users in opposite order do not deadlock under a limit', async () => {
    const [one, two] = [await replica.user(), await replica.user()];
    for (const { id } of [one, two]) await replica.create(id);
    await session.query('BEGIN');
    await session.query('SELECT 1 FROM users WHERE id = $1 FOR UPDATE', [one.id]);
    const first = write(create(one.id, {}, limited), remove(two.id, 1n));
    await waiting(1);
    const second = write(create(two.id, {}, limited), remove(one.id, 1n));
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([first, second]), [
      [2n, true],
      [2n, true],
    ]);
  });

  test('deletes of the same plants in opposite order do not deadlock', async () => {
    const { id: owner } = await replica.user();
    for (let n = 0; n < 2; n++) await replica.create(owner);
    await session.query('BEGIN');
    await session.query('SELECT 1 FROM plants WHERE owner = $1 AND id = 1 FOR UPDATE', [owner]);
    const first = write(remove(owner, 1n), remove(owner, 2n));
    await waiting(1);
    const second = write(remove(owner, 2n), remove(owner, 1n));
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([first, second]), [
      [true, true],
      [false, false],
    ]);
  });

  test('a batch that is retried because an id is taken does not deadlock with one of several statements', async () => {
    const { id: owner } = await replica.user();
    await replica.create(owner);
    await replica.create(owner, 2n);
    const way = await openWay();
    let tries = 0;
    const heldUp: Database['write'] = async (...args) => {
      if (++tries === 2) {
        await session.query('BEGIN');
        await session.query('SELECT 1 FROM assigned_ids WHERE owner = $1 FOR UPDATE', [owner]);
      }
      return way.write(...args);
    };
    const retried = createWriter({ ...way, write: heldUp }, async () => {})([create(owner)], () => true);
    // The retry has the user, and wants the counter.
    await waiting(1);
    const several = write(create(owner), remove(owner, 1n), create(owner));
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([retried, several]), [[3n], [4n, true, 5n]]);
  });

  for (const { name, act, outcome } of [
    { name: 'a create', act: (owner: number) => write(create(owner)), outcome: [2n] },
    { name: 'a create with an id', act: (owner: number) => write(create(owner, { id: 4n })), outcome: [4n] },
    { name: 'a delete', act: (owner: number) => write(remove(owner, 1n)), outcome: [true] },
    {
      name: 'a transaction of its own',
      act: (owner: number) => second.webhooks.deleteWebhook(owner, 'wh_unknown', by(owner)),
      outcome: false,
    },
  ]) {
    test(`${name} does not overtake a change of shares that waits for its owner`, async () => {
      const [owner, viewer] = [await replica.user(), await replica.user()];
      await replica.create(owner.id);
      await session.query('BEGIN');
      await session.query('SELECT 1 FROM users WHERE id = $1 FOR SHARE', [owner.id]);
      const share = { owner: owner.name, viewer: viewer.name, at: AT };
      const added = replica.store.access.addShare(share, 10);
      await waiting(1);
      const acted = act(owner.id);
      await waiting(2);
      await session.query('ROLLBACK');
      assert.deepEqual(await Promise.all([added, acted]), ['shared', outcome]);
    });
  }

  test('webhooks that two replicas create at the same time are not more than allowed', async () => {
    const { id: owner } = await replica.user();
    await session.query('BEGIN');
    await session.query('SELECT 1 FROM users WHERE id = $1 FOR UPDATE', [owner]);
    const shown = { url: 'https://example.com/', description: undefined, rate: undefined, publicKey: 'p' };
    const created = [replica.store, second].map(({ webhooks }, n) => {
      const webhook = {
        ...shown,
        id: `wh_${owner}_${n}`,
        owner,
        privateKey: 'q',
        secrets: [],
        createdAt: AT,
      };
      return webhooks.createWebhook(webhook, 1, n === 0 ? by(owner) : undefined);
    });
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual((await Promise.all(created)).toSorted(), [false, true]);
  });

  test("a rotation of another user's token does not wait for that user", async () => {
    const [one, two] = [await replica.user(), await replica.user()];
    const token = { label: '', scopes: [], createdAt: AT, expiresAt: undefined };
    const { access } = replica.store;
    await access.createToken({ ...token, id: 'tok_1', hash: 'one', user: one.name });
    await session.query('BEGIN');
    await session.query('SELECT 1 FROM users WHERE id = $1 FOR UPDATE', [one.id]);
    const replacement = { ...token, id: 'tok_2', hash: 'two' };
    const rotation = { id: 'tok_1', replacement, overlapUntil: AT };
    const asking = { user: two.id, token: undefined, most: 2 };
    const rotated = access.rotateToken(rotation, asking, by(two.id)).finally(() => session.query('ROLLBACK'));
    assert.equal(await rotated, 'no token');
  });

  test('a create that waits for the removal of a share is not sent to the former viewer', async () => {
    const [owner, viewer] = [await replica.user(), await replica.user()];
    const hook = await replica.webhook(viewer.id);
    const { access } = replica.store;
    await access.addShare({ owner: owner.name, viewer: viewer.name, at: AT }, 10);
    // Removing a share changes the epoch while it holds the users.
    await session.query('BEGIN');
    await session.query(`SELECT 1 FROM meta WHERE name = 'access_epoch' FOR UPDATE`);
    const removed = access.removeShare({ owner: owner.name, viewer: viewer.name });
    await waiting(1);
    const created = write(create(owner.id));
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([removed, created]), [true, [1n]]);
    await replica.finishChores();
    const { rows } = await session.query('SELECT event FROM deliveries WHERE webhook = $1', [hook]);
    assert.deepEqual(rows, []);
  });

  test('a create that waits for a new share is sent to the viewer', async () => {
    const [owner, viewer] = [await replica.user(), await replica.user()];
    const hook = await replica.webhook(viewer.id);
    await session.query('BEGIN');
    await session.query(`SELECT 1 FROM meta WHERE name = 'access_epoch' FOR UPDATE`);
    const share = { owner: owner.name, viewer: viewer.name, at: AT };
    const added = replica.store.access.addShare(share, 10);
    await waiting(1);
    const created = write(create(owner.id));
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([added, created]), ['shared', [1n]]);
    const { rows } = await session.query('SELECT event FROM deliveries WHERE webhook = $1', [hook]);
    assert.equal(rows.length, 1);
  });

  /** Locks a delivery for the session. */
  async function hold(delivery: Due): Promise<void> {
    await session.query('BEGIN');
    await session.query('SELECT 1 FROM deliveries WHERE webhook = $1 AND event = $2 FOR UPDATE', [
      delivery.webhook.id,
      delivery.event.id,
    ]);
  }

  const advance = () => replica.store.chores.advance({ now: AT, limit: 10 });
  const record = (...found: Due[]) => lanes.store.record(found.map((one) => outcomeOf(one)));

  test('a recording in the order of completion does not deadlock with a replay', async () => {
    const { owner, hook } = await replica.subscriber(2);
    const [one, two] = await replica.due(hook);
    assert.ok(one && two);
    const request = { owner, webhook: hook, from: 'evt_0', state: 'pending' } as const;
    await replica.store.deliveries.startReplay(request, 10);
    await hold(one);
    const advanced = advance();
    await waiting(1);
    const recorded = record(two, one);
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([advanced, recorded]), [true, ['settled', 'settled']]);
  });

  test('a replay of deliveries that were created in another order does not deadlock with a recording', async () => {
    const { owner, hook } = await replica.subscriber(0);
    const events = ['one', 'two'].map(() => replica.ids.next('evt'));
    for (const event of events.toReversed()) await replica.create(owner, undefined, { event });
    const [one, two] = (await replica.due(hook)).toSorted((a, b) => (a.event.id < b.event.id ? -1 : 1));
    assert.ok(one && two);
    const request = { owner, webhook: hook, from: 'evt_0', state: 'pending' } as const;
    await replica.store.deliveries.startReplay(request, 10);
    await hold(one);
    const recorded = record(one, two);
    await waiting(1);
    const advanced = advance();
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([advanced, recorded]), [true, ['settled', 'settled']]);
  });

  test('chores of several webhooks do not deadlock with a recording for all of them', async () => {
    const [gone, replayed] = [await replica.subscriber(1), await replica.subscriber(1)];
    const [one] = await replica.due(gone.hook);
    const [two] = await replica.due(replayed.hook);
    assert.ok(one && two);
    const request = { owner: replayed.owner, webhook: replayed.hook, from: 'evt_0' } as const;
    await replica.store.deliveries.startReplay({ ...request, state: 'pending' }, 10);
    await replica.store.webhooks.deleteWebhook(gone.owner, gone.hook);
    await hold(one);
    const recorded = record(one, two);
    await waiting(1);
    const advanced = advance();
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([advanced, recorded]), [true, ['settled', 'settled']]);
    await replica.finishChores();
  });

  test('the removal of expired events does not deadlock with a recording for the webhooks of owner and viewer', async () => {
    const [owner, viewer] = [await replica.user(), await replica.user()];
    const { access, chores } = replica.store;
    await access.addShare({ owner: owner.name, viewer: viewer.name, at: AT }, 10);
    // The viewer's has the lower id.
    const [theirs, own] = [await replica.webhook(viewer.id), await replica.webhook(owner.id)];
    for (let n = 0; n < 2; n++) await replica.create(owner.id);
    const [ofViewer] = await replica.due(theirs);
    const [first, second] = await replica.due(own);
    assert.ok(ofViewer && first && second);
    await hold(second);
    const from = { owner: owner.id, event: '' };
    const removed = chores.removeExpired({ before: `${second.event.id}~`, from, limit: 50 });
    await waiting(1);
    const recorded = record(ofViewer, first);
    await waiting(2);
    await session.query('ROLLBACK');
    await removed;
    assert.deepEqual(await recorded, ['settled', 'settled']);
  });

  test('the removal of a webhook does not deadlock with a recording of what was in flight', async () => {
    const { owner, hook } = await replica.subscriber(1);
    const [one] = await replica.due(hook);
    assert.ok(one);
    await replica.store.webhooks.deleteWebhook(owner, hook);
    // Its delivery.
    await advance();
    await session.query('BEGIN');
    await session.query('SELECT 1 FROM lanes WHERE webhook = $1 FOR SHARE', [hook]);
    const removed = advance();
    await waiting(1);
    const recorded = record(one);
    await waiting(2);
    await session.query('ROLLBACK');
    assert.deepEqual(await Promise.all([removed, recorded]), [true, ['gone']]);
  });

  test('creates under a limit do not wait for a change of tokens, users or shares', async () => {
    const counting = given(await open({ maxPlantsPerUser: 4 }));
    const { id: owner } = await replica.user();
    await session.query('BEGIN');
    await session.query(`SELECT 1 FROM meta WHERE name = 'access_epoch' FOR UPDATE`);
    // The first one counts the plants.
    const created = [await counting.create(owner), await counting.create(owner)];
    await session.query('ROLLBACK');
    assert.deepEqual(created, [1n, 2n]);
  });

  for (const { name, act, outcome, count } of [
    { name: 'a delete', act: (owner: number) => remove(owner, 1n), outcome: true, count: '2' },
    { name: 'a create', act: (owner: number) => create(owner, { id: 4n }), outcome: 4n, count: '4' },
    { name: 'a create without an id', act: (owner: number) => create(owner), outcome: 3n, count: '4' },
  ]) {
    test(`${name} that waits for the create that starts the plant count is counted`, async () => {
      const counting = given(await open({ maxPlantsPerUser: 4 }));
      const { id: owner } = await replica.user();
      for (let n = 0; n < 2; n++) await replica.create(owner);
      // The create has counted once it waits for this session, and is not committed.
      await session.query('BEGIN');
      await session.query(
        `INSERT INTO plants (owner, id, name, created_at)
         VALUES ($1, -1, 'Alder', 0)`,
        [owner],
      );
      const created = counting.create(owner, -1n);
      await waiting(1);
      const acted = write(act(owner));
      await waiting(2);
      await session.query('ROLLBACK');
      assert.deepEqual(await Promise.all([created, acted]), [-1n, [outcome]]);
      const { rows } = await session.query('SELECT plants FROM plant_counts WHERE owner = $1', [owner]);
      assert.deepEqual(rows, [{ plants: count }]);
    });
  }
});

/** A caller, as in a request. */
function by(user: number): Caller {
  return { user, hasLeft: () => false, once: undefined };
}
