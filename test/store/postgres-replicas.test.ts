import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { parseDatabaseUrl } from '../../src/database-url.ts';
import type { Caller } from '../../src/idempotency.ts';
import { delivery } from '../../src/limits.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { FEED_TX } from '../../src/store/postgres/feed.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/store.ts';
import { parseNetworks } from '../../src/webhooks/addresses.ts';
import { startDispatcher } from '../../src/webhooks/dispatcher.ts';
import { createLanes } from '../../src/webhooks/lanes.ts';
import { createWebhook } from '../../src/webhooks/operations.ts';
import type { Claim } from '../../src/webhooks/port.ts';
import { createQueueingSender } from '../../src/webhooks/queueing-sender.ts';
import { createResolve } from '../../src/webhooks/resolver.ts';
import { createSender } from '../../src/webhooks/sender.ts';
import { createTarget } from '../../src/webhooks/target.ts';
import { makeDatabase, type TestDatabase } from '../harness/postgres.ts';
import { startReceiver } from '../harness/receiver.ts';
import { AT, type Given, given, outcomeOf } from './given-claims.ts';

const PATIENCE_MS = 20_000;

describe('two replicas on one database', () => {
  let database: TestDatabase;
  let one: Given;
  let other: Given;

  before(async () => {
    database = await makeDatabase();
    one = given(await open());
    other = given(await open());
  });
  after(async () => {
    await one.store.close();
    await other.store.close();
    await database.drop();
  });

  function open(): Promise<PostgresStore> {
    return openPostgresStore({
      url: parseDatabaseUrl(database.url),
      connections: 4,
      pooled: false,
      clock: { now: Date.now },
      log: silentLog,
      deliveryDelayMs: 0,
    });
  }

  /** Claims as soon as the replica knows of what the other one wrote. */
  async function claimSome(replica: Given, hook: string, more: Parameters<Given['claim']>[1] = {}) {
    for (const late = performance.now() + PATIENCE_MS; performance.now() < late; await setTimeout(5)) {
      const claims = await replica.claim(hook, more);
      if (claims.length > 0) return claims;
    }
    throw new Error('nothing was claimed');
  }

  test('what one replica makes due, the other one is told of, and claims', async () => {
    const { owner, hook } = await one.subscriber(0);
    const told = new Promise<void>((resolve) => other.store.outbox.onDue(resolve));
    await one.create(owner);
    await told;
    assert.equal((await claimSome(other, hook)).length, 1);
  });

  test('ids that both choose for one user at the same time are different, and without gaps', async () => {
    const { id: owner } = await one.user();
    const create = async (replica: Given): Promise<bigint[]> => {
      const ids: bigint[] = [];
      for (let n = 0; n < 20; n++) {
        const batch = Array.from({ length: 5 }, () =>
          replica.store.plants.create(replica.plant(owner), by(owner)),
        );
        for (const outcome of await Promise.all(batch)) if ('created' in outcome) ids.push(outcome.created);
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

  test('no delivery is claimed by both, and none is left out', async () => {
    const hooks = new Set<string>();
    for (let n = 0; n < 4; n++) hooks.add((await one.subscriber(25)).hook);
    const claimed: string[] = [];
    async function claimAll(replica: Given): Promise<void> {
      const places = { each: 3, together: 1000 };
      while (claimed.length < 100) {
        const now = AT + Math.floor(performance.now());
        const claims = await replica.claim(undefined, { now, leaseUntil: now + 1e6, limit: 7, places });
        for (const { webhook, event } of claims)
          if (hooks.has(webhook.id)) claimed.push(`${webhook.id} ${event.id}`);
        await Promise.all(claims.map((claim) => replica.store.outbox.record(outcomeOf(claim))));
      }
    }
    await Promise.all([claimAll(one), claimAll(other)]);
    assert.equal(claimed.length, 100);
    assert.equal(new Set(claimed).size, 100);
  });

  test('an outcome of a replica whose lease another one took over comes too late', async () => {
    const { hook } = await one.subscriber(1);
    const [first] = await one.claim(hook);
    const [second] = await claimSome(other, hook, { now: AT + 1001, leaseUntil: AT + 2000 });
    assert.ok(first && second);
    assert.equal(second.fence, first.fence + 1);
    assert.equal(
      await one.store.outbox.record(outcomeOf(first, { reason: 'no', next: { state: 'failed' } })),
      'late',
    );
    await one.store.outbox.giveBack(first);
    assert.equal(await other.store.outbox.record(outcomeOf(second)), 'settled');
    const shown = await one.store.deliveries.delivery(hook, first.event.id);
    assert.deepEqual([shown?.state, shown?.attempts, shown?.reason], ['delivered', 2, undefined]);
  });

  test('a replica that starts or stops releases the leases of no other', async () => {
    const { hook } = await one.subscriber(2);
    assert.equal((await one.claim(hook)).length, 2);
    const third = given(await open());
    await third.store.outbox.releaseLeases(AT + 1);
    assert.equal((await third.claim(hook, { now: AT + 1 })).length, 0);
    await one.store.outbox.releaseLeases(AT + 1);
    assert.equal((await claimSome(third, hook, { now: AT + 1 })).length, 2);
    await third.store.close();
  });

  test('together they hold no more claims of a webhook than one may, unless one of them holds all', async () => {
    const { hook } = await one.subscriber(40);
    const wide = { each: 32, together: 8 };
    const first = await one.claim(hook, { places: { ...wide, each: 3 } });
    assert.equal(first.length, 3);
    assert.equal((await claimSome(other, hook, { places: wide })).length, 5);
    assert.equal((await one.claim(hook, { places: wide })).length, 0);
    for (const claim of first) await one.store.outbox.record(outcomeOf(claim));
    assert.equal((await claimSome(one, hook, { places: wide, now: AT + 60 })).length, 3);
    await other.store.outbox.releaseLeases(AT + 60);
    assert.equal((await claimSome(one, hook, { places: wide, now: AT + 120 })).length, 32);
  });

  test('however they race for a webhook, they hold no more claims than one may, and a quarter', async () => {
    const wide = { each: 6, together: 8 };
    for (let round = 0; round < 10; round++) {
      const { hook } = await one.subscriber(30);
      const held: number[] = [0, 0];
      for (let turn = 1; turn <= 5; turn++) {
        const now = AT + turn * 100;
        const claims = await Promise.all(
          [one, other].map((replica) => replica.claim(hook, { now, leaseUntil: AT + 1e6, places: wide })),
        );
        for (const [n, { length }] of claims.entries()) held[n] = (held[n] ?? 0) + length;
        const [mine = 0, theirs = 0] = held;
        // Unless one has taken all before the other came.
        assert.ok(mine + theirs <= 10 || Math.min(mine, theirs) <= 2, `${mine} and ${theirs}`);
      }
    }
  });

  test('what a replica had claimed that was killed does not stop the webhook until its leases end', async () => {
    const { hook } = await one.subscriber(40);
    const wide = { each: 32, together: 8 };
    assert.equal((await one.claim(hook, { places: wide })).length, 32);
    const [first, second] = await claimSome(other, hook, { places: wide });
    assert.ok(first && second);
    await other.store.outbox.record(outcomeOf(first));
    assert.equal((await claimSome(other, hook, { places: wide, now: AT + 60 })).length, 1);
  });

  test('a receiver gets at most a quarter more requests at a time than one replica would make', async () => {
    const receiver = await startReceiver();
    let underWay = 0;
    let most = 0;
    receiver.usually((_, response) => {
      most = Math.max(most, ++underWay);
      setTimeout(10).then(() => {
        underWay--;
        response.writeHead(204).end();
      });
    });
    const runtime = systemRuntime(silentLog);
    const target = createTarget({ allowed: parseNetworks('127.0.0.0/8'), resolve: createResolve() });
    const { id: owner } = await one.user();
    const context = { ...one.store, runtime, target, deliveryDelayMs: 0 };
    await createWebhook(context, owner, { url: receiver.url });
    const parts = { target, clock: runtime.clock, version: '1.0.0', source: 'https://plants.example' };
    const running = [one, other].map(({ store: { outbox } }) => {
      const sender = createQueueingSender(createSender(parts), 4);
      const rules = { schedule: [0], disableAfterMs: 1e9 };
      return startDispatcher({ outbox, sender, rules, concurrency: 4, runtime });
    });
    const at = runtime.clock.now();
    await Promise.all(
      Array.from({ length: 200 }, (_, n) => (n % 2 ? one : other).create(owner, undefined, { at })),
    );
    await receiver.receive(200);
    for (const dispatcher of running) await dispatcher.stop();
    await receiver.stop();
    assert.equal(receiver.received.length, 200);
    assert.ok(most <= 5, `${most} at a time`);
  });

  test('the rate of a webhook holds over both', async () => {
    const rate = 20;
    const { id: owner } = await one.user();
    const hook = await one.webhook(owner, { rate });
    await Promise.all(Array.from({ length: 100 }, () => one.create(owner)));
    const replicas = [one, other].map((replica) => ({
      replica,
      lanes: createLanes({ ...delivery, perWebhook: 16 }),
    }));
    const begun: number[] = [];
    for (let now = AT; now < AT + 2000; now += 10) {
      for (const { replica, lanes } of replicas) {
        const { places } = lanes.room(now);
        for (const claim of await replica.claim(hook, { now, leaseUntil: AT + 1e6, places })) {
          begun.push(now);
          lanes.enter(claim.webhook, now);
          await replica.store.outbox.record(outcomeOf(claim));
          lanes.leave(hook, 'success', now);
        }
      }
    }
    const inSecond = (from: number) => begun.filter((at) => at >= from && at < from + 1000).length;
    const busiest = Math.max(...begun.map(inSecond));
    const burst = Math.floor(rate * delivery.rateBurst);
    // A replica may have saved up a burst of its own while the other one drew.
    assert.ok(busiest <= rate + 2 * burst, `${busiest} in a second`);
    assert.ok(begun.length >= 0.9 * 2 * rate, `${begun.length} in two seconds`);
  });

  test('a reader who follows the feed while both write misses nothing and gets nothing twice', async () => {
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

  test('an event waits for those of older transactions, and comes behind them', async () => {
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
    // As another replica does, whose ids of events may be greater.
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

  test('those who follow are told of an event when it is part of the feed', async () => {
    const { id: owner } = await one.user();
    const told = new Promise<void>((resolve) =>
      other.store.events.onEvents((owners) => owners.includes(owner) && resolve()),
    );
    await one.create(owner);
    await told;
    const page = await other.store.events.events({ viewer: owner, after: undefined, limit: 5 });
    assert.equal(page?.events.length, 1);
  });

  test('long work is done once, whichever replica does it', async () => {
    const { owner, hook } = await one.subscriber(20);
    const claims: Claim[] = await one.claim(hook);
    for (const claim of claims) await one.store.outbox.record(outcomeOf(claim));
    await one.store.deliveries.startReplay(
      { owner, webhook: hook, from: 'evt_0', state: undefined, at: AT },
      10,
    );
    await Promise.all([one.finishChores(), other.finishChores()]);
    assert.equal((await claimSome(other, hook)).length, 20);
  });
});

/** As requests come. */
function by(user: number): Caller {
  return { user, hasLeft: () => false, once: undefined };
}
