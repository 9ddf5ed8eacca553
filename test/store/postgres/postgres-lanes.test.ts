import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { lanes as limits } from '../../../src/limits.ts';
import { silentLog, systemRuntime } from '../../../src/runtime.ts';
import type { Lanes } from '../../../src/store/lane-threads.ts';
import type { PostgresOptions, PostgresStore } from '../../../src/store/postgres/store.ts';
import { deliver } from '../../../src/webhooks/delivery/deliver.ts';
import { newKeyPair, newSecret } from '../../../src/webhooks/sending/signature.ts';
import { type Receiver, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { senderWith } from '../../../testkit/receivers/sending.ts';
import { eventsIn } from '../../../testkit/service/owner.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { deliveryTo } from '../../../testkit/stores/deliveries.ts';
import { type Due, type Given, given, outcomeOf } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import {
  makeStoreDatabase,
  openStoreIn,
  type TestDatabase,
  useServer,
} from '../../../testkit/stores/postgres.ts';

const PATIENCE_MS = 20_000;
const MINUTE = 60_000;
const runtime = systemRuntime(silentLog);

type Replica = Given & {
  store: PostgresStore;
  owners: Lanes['owners'];
  take(hook: string): Promise<number | undefined>;
};

describe('lanes of several replicas', () => {
  /** Kept between tests. */
  let server: Awaited<ReturnType<typeof useServer>>;
  let database: TestDatabase;
  let session: pg.Client;
  const opened: PostgresStore[] = [];
  const stopping: (() => Promise<void>)[] = [];

  before(async () => {
    server = await useServer();
  });
  after(() => server.leave());
  beforeEach(async () => {
    database = await makeStoreDatabase();
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
  });
  afterEach(async () => {
    await Promise.all(stopping.splice(0).map((stop) => stop()));
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await session.end();
    await database.drop();
  });

  const sql = (text: string) => session.query(text);

  async function open(more: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
    const store = await openStoreIn(database.url, more);
    opened.push(store);
    return store;
  }

  async function openLanesOf(store: PostgresStore): Promise<Lanes> {
    const lanes = await lanesOf(store);
    stopping.push(lanes.close);
    return lanes;
  }

  /** A replica that takes lanes by hand. */
  async function replica(): Promise<Replica> {
    const store = await open();
    const { store: lanes, owners } = await openLanesOf(store);
    const take = async (hook: string) => (await owners.take([hook]))[0]?.fence;
    const fenceOf = async (hook: string) => (await take(hook)) ?? -1;
    return { ...given(store, { lanes, fenceOf }), store, owners, take };
  }

  /** As if the replica had been killed, and its lease had ended. */
  const endLeases = () => sql('UPDATE replicas SET alive_until = 0');

  /** Two replicas that see each other, and a lane with this many deliveries for which the first is preferred. */
  async function two(count: number) {
    const one = await replica();
    const { owner, hook } = await one.subscriber(count);
    return { one, owner, hook };
  }

  async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
    for (const late = performance.now() + PATIENCE_MS; performance.now() < late; await pause(20)) {
      const found = await look();
      if (found !== undefined) return found;
    }
    throw new Error('it takes too long');
  }

  describe('ownership', () => {
    test('a lane has one owner, whose fence is higher each time', async () => {
      const { one, hook } = await two(1);
      const other = await replica();
      assert.equal(await one.take(hook), 1);
      assert.equal(await until(async () => (await other.take(hook)) ?? 'none'), 'none');
      await one.owners.giveBack([hook], false);
      const [taken] = await until(async () => {
        const [lane] = await other.owners.take([hook]);
        return lane ? [lane] : undefined;
      });
      assert.deepEqual(taken, { webhook: hook, fence: 2, isInherited: false, isSuspect: false });
    });

    test("a killed replica's lane is inherited as suspect", async () => {
      const { one, hook } = await two(1);
      await one.take(hook);
      const other = await replica();
      await endLeases();
      const third = await replica();
      const taken = await until(async () => (await third.owners.take([hook]))[0]);
      assert.deepEqual(taken, { webhook: hook, fence: 2, isInherited: true, isSuspect: true });
      assert.equal(await other.take(hook), undefined);
    });

    test("a stopped replica's lane may have used its rate, but is not suspect", async () => {
      const { one, hook } = await two(1);
      await one.take(hook);
      await one.owners.stop();
      const other = await replica();
      const taken = await until(async () => (await other.owners.take([hook]))[0]);
      assert.deepEqual(taken, { webhook: hook, fence: 2, isInherited: true, isSuspect: false });
    });

    test('a replica whose lease ended loses its lanes, and takes them again under another name', async () => {
      const { one, hook } = await two(1);
      const lost = new Promise<readonly string[]>((resolve) =>
        one.owners.listen?.({ lost: resolve, leave() {}, gone() {} }),
      );
      await one.take(hook);
      assert.ok(one.owners.mayServe(hook));
      await endLeases();
      assert.deepEqual(await lost, [hook]);
      assert.ok(!one.owners.mayServe(hook));
      const taken = await until(async () => (await one.owners.take([hook]))[0]);
      assert.deepEqual(taken, { webhook: hook, fence: 2, isInherited: true, isSuspect: false });
    });

    test("a replica that starts or stops gives back no other replica's lane", async () => {
      const { one, hook } = await two(1);
      await one.take(hook);
      const other = await replica();
      await other.owners.stop();
      await other.store.close();
      const { rows } = await sql(
        'SELECT fence::int, replica IN (SELECT id FROM replicas) AS is_alive FROM lanes',
      );
      assert.deepEqual(rows, [{ fence: 1, is_alive: true }]);
      assert.ok(one.owners.mayServe(hook));
    });

    test('a late give-back does not free a lane that was taken again', async () => {
      const { one, hook } = await two(1);
      await one.take(hook);
      const [given] = await Promise.all([one.owners.giveBack([hook], false), one.take(hook)]);
      assert.equal(given, undefined);
      const { rows } = await sql('SELECT replica IS NOT NULL AS is_owned, fence::int FROM lanes');
      assert.deepEqual(rows, [{ is_owned: true, fence: 2 }]);
    });

    for (const { name, isKnown } of [
      { name: 'a lane', isKnown: true },
      { name: 'a lane that never had an owner', isKnown: false },
    ]) {
      test(`${name} is not taken from a replica that began and took it meanwhile`, async () => {
        const { one, owner, hook } = await two(1);
        const watcher = new pg.Client({ connectionString: database.url });
        await watcher.connect();
        stopping.push(() => watcher.end());
        if (isKnown) {
          await one.take(hook);
          await one.owners.giveBack([hook], false);
        }
        await sql('BEGIN');
        await session.query(
          `INSERT INTO lanes AS l (webhook, subscriber, replica, fence) VALUES ($1, $2, 'new', 1)
           ON CONFLICT (webhook) DO UPDATE SET replica = 'new', fence = l.fence + 1`,
          [hook, owner],
        );
        const taken = one.take(hook);
        await until(async () => {
          const { rows } = await watcher.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          );
          return rows.length > 0 || undefined;
        });
        await sql(`INSERT INTO replicas SELECT 'new', alive_until, true FROM replicas LIMIT 1`);
        await sql('COMMIT');
        assert.equal(await taken, undefined);
      });
    }

    test('a search finds unowned lanes and those of this replica', async () => {
      const { one, hook } = await two(1);
      const other = await replica();
      const found = async ({ lanes }: Replica) =>
        (await lanes().findWork(undefined, 10)).map(({ webhook }) => webhook);
      assert.deepEqual(await found(other), [hook]);
      await one.take(hook);
      assert.deepEqual(await found(one), [hook]);
      assert.deepEqual(await found(other), []);
      await endLeases();
      assert.deepEqual(await found(other), [hook]);
    });

    test('a search omits what is not due soon', async () => {
      const { one, owner } = await two(0);
      await one.create(owner, undefined, { at: one.store.clock.now() + MINUTE });
      assert.deepEqual(await one.lanes().findWork(undefined, 10), []);
    });

    test('a lease from a server whose clock was ahead does not outlive its replica', async () => {
      const { one, hook } = await two(1);
      await one.take(hook);
      const other = await replica();
      await sql(`UPDATE replicas SET alive_until = alive_until + ${10 * MINUTE}`);
      assert.deepEqual(
        (await other.lanes().findWork(undefined, 10)).map(({ webhook }) => webhook),
        [hook],
      );
    });
  });

  describe('outcomes', () => {
    test('outcomes of a replica that lost the lane are discarded, and those of the new owner count', async () => {
      const { one, owner, hook } = await two(2);
      const [first, second] = await one.due(hook);
      assert.ok(first && second);
      await endLeases();
      const other = await replica();
      const late = outcomeOf(first, { reason: 'no', next: { state: 'failed' } });
      const [again] = await until(async () => {
        const found = await other.due(hook);
        return found[0]?.fence === 2 ? found : undefined;
      });
      assert.ok(again);
      assert.equal(await one.record(late), 'lost');
      assert.equal(await other.record(outcomeOf(again)), 'settled');
      assert.equal(await one.record(outcomeOf(second)), 'lost');
      const shown = await deliveryTo(other.store, owner, hook, first.event.id);
      assert.deepEqual([shown?.state, shown?.attempts], ['delivered', 1]);
    });

    test('no lane is taken between checking its owner and committing an outcome', async () => {
      const { one, owner, hook } = await two(1);
      const [made] = await one.due(hook);
      assert.ok(made);
      const other = await replica();
      // Holds up the outcome, after it locked the lane, while the gate is shut.
      await sql(`CREATE TABLE gate AS SELECT 1 AS shut;
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          WHILE EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.01); END LOOP;
          RETURN NEW;
        END $$;
        CREATE TRIGGER wait BEFORE INSERT ON attempts FOR EACH ROW EXECUTE FUNCTION wait()`);
      const waits = (event: string) =>
        until(async () => {
          const { rows } = await sql(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${event}`,
          );
          return rows.length > 0 || undefined;
        });
      const recorded = one.record(outcomeOf(made));
      await waits(`wait_event = 'PgSleep'`);
      await endLeases();
      // The server may give up the wait for the lock if this takes long.
      const taken = until(() => other.take(hook).catch(() => undefined));
      await waits(`wait_event_type = 'Lock'`);
      await sql('DELETE FROM gate');
      assert.equal(await taken, 2);
      // Answers on two connections arrive in any order: what counts is what the lane's owner finds.
      const shown = await deliveryTo(other.store, owner, hook, made.event.id);
      assert.deepEqual([shown?.state, shown?.attempts], ['delivered', 1]);
      assert.equal(await recorded, 'settled');
    });

    test('deliveries leased by a replica of the previous version are read when the lease is over', async () => {
      const { one, hook } = await two(1);
      const now = one.store.clock.now();
      await sql(`UPDATE deliveries SET leased = true, due = ${now + 1000}, fence = fence + 1`);
      const { due, nextDue } = await one
        .lanes()
        .read({ webhook: hook, now, after: undefined, limit: 9, askedLimit: 9 });
      assert.deepEqual([due, nextDue], [[], now + 1000]);
      const [made] = await one.due(hook, { now: now + 1000 });
      assert.equal(made?.generation, 1);
      assert.equal(await one.record(outcomeOf(made as Due)), 'settled');
      const { rows } = await sql('SELECT state, leased, fence FROM deliveries');
      assert.deepEqual(rows, [{ state: 'delivered', leased: false, fence: 2 }]);
    });

    test('an outcome is ignored if a replica of the previous version has claimed the delivery meanwhile', async () => {
      const { one, hook } = await two(1);
      const [made] = await one.due(hook);
      assert.ok(made);
      const leaseEnd = one.store.clock.now() + MINUTE;
      await sql(`UPDATE deliveries SET leased = true, due = ${leaseEnd}, fence = fence + 1`);
      assert.equal(await one.record(outcomeOf(made)), 'late');
      const { rows } = await sql('SELECT state, leased, fence, attempts FROM deliveries');
      assert.deepEqual(rows, [{ state: 'pending', leased: true, fence: 1, attempts: 1 }]);
    });
  });

  describe('delivery', () => {
    let receiver: Receiver;
    beforeEach(async () => {
      receiver = await startReceiver();
      stopping.push(receiver.stop);
    });

    /** A delivering replica whose clock is off by this much. */
    async function delivering(offMs = 0, more: Partial<PostgresOptions> = {}) {
      const clock = { now: () => Date.now() + offMs };
      const store = await open({ clock, ...more });
      const { store: lanes, owners, clock: ofDatabase } = await openLanesOf(store);
      const delivery = deliver({
        store: lanes,
        owners,
        sender: senderWith({ clock: ofDatabase }),
        schedule: [0, 1_000],
        disableAfterMs: 1e9,
        concurrency: 4,
        runtime: { ...runtime, clock: ofDatabase },
      });
      stopping.unshift(delivery.stop);
      return { ...given(store, { lanes }), store, owners, delivery };
    }

    async function subscribe(
      { store, user, webhook }: Pick<Replica, 'store' | 'user' | 'webhook'>,
      rate?: number,
    ) {
      const { id: owner } = await user();
      const { random } = runtime;
      const keys = { secrets: [newSecret(random)], ...newKeyPair(random) };
      const hook = await webhook(owner, { url: receiver.url, rate, ...keys });
      return { owner, hook, at: () => store.clock.now() };
    }

    test('with clocks 20 minutes apart everything is delivered at once, and only once', async () => {
      const ahead = await delivering(10 * MINUTE);
      const behind = await delivering(-10 * MINUTE);
      const lanes = [];
      // One replica is preferred for all of these in one of 30 000 runs.
      for (let n = 0; n < 16; n++) lanes.push(await subscribe(ahead));
      const owners = new Set<unknown>();
      const noteOwners = async () => {
        const { rows } = await sql('SELECT DISTINCT replica FROM lanes WHERE replica IS NOT NULL');
        for (const { replica } of rows) owners.add(replica);
      };
      let made = 0;
      // Until they see each other, one may have all lanes.
      for (let n = 0; n < 10 || owners.size < 2; n++) {
        for (const [i, { owner }] of lanes.entries()) {
          const { store, create } = (n + i) % 2 ? ahead : behind;
          await create(owner, undefined, { at: store.clock.now() });
          made++;
        }
        await noteOwners();
      }
      const received = await receiver.receive(made);
      assert.equal(new Set(eventsIn(received)).size, made);
      for (const { headers, at } of received) {
        const off = Number(headers['webhook-timestamp']) * 1000 - at;
        assert.ok(Math.abs(off) < 5_000, `signed ${off} ms off`);
      }
      await Promise.all([ahead.delivery.stop(), behind.delivery.stop()]);
      assert.equal(receiver.received.length, made);
    });

    test("without listeners, another replica's new deliveries are sent within a moment", async () => {
      const sender = await delivering(0, { pooled: true });
      const maker = given(await open({ pooled: true }));
      const { owner, at } = await subscribe(sender);
      await pause(200);
      using watch = startWatch();
      await maker.create(owner, undefined, { at: at() });
      await receiver.receive(1);
      const tookMs = watch.ms();
      // After a slow search the next one comes after 2 s.
      assert.ok(tookMs < 3_000, `after ${tookMs} ms`);
    });

    test('a new replica gets its share under load, and nothing is sent twice', async () => {
      const one = await delivering();
      const lanes: Awaited<ReturnType<typeof subscribe>>[] = [];
      for (let n = 0; n < 40; n++) lanes.push(await subscribe(one));
      let made = 0;
      const stopped = new AbortController();
      async function createAll(): Promise<void> {
        while (!stopped.signal.aborted) {
          await Promise.all(lanes.map(({ owner, at }) => one.create(owner, undefined, { at: at() })));
          made += lanes.length;
          await pause(50);
        }
      }
      const creating = createAll();
      await receiver.receive(400);
      const other = await delivering();
      const shares = () =>
        sql(`SELECT count(*)::int AS lanes FROM lanes l JOIN replicas r ON r.id = l.replica GROUP BY r.id`);
      const sizes = await until(async () => {
        const { rows } = await shares();
        return rows.length === 2 ? rows.map(({ lanes: size }) => size) : undefined;
      });
      await receiver.receive(made + 800);
      stopped.abort();
      await creating;
      const received = await receiver.receive(made);
      await Promise.all([one.delivery.stop(), other.delivery.stop()]);
      assert.equal(receiver.received.length, made, 'some were sent twice');
      assert.equal(new Set(eventsIn(received)).size, made);
      assert.ok(Math.min(...sizes) >= 1);
    });

    test('ending connections under load loses nothing, and everything is delivered within 5 s', async () => {
      const [one, other] = [await delivering(), await delivering()];
      const lanes: Awaited<ReturnType<typeof subscribe>>[] = [];
      for (let n = 0; n < 6; n++) lanes.push(await subscribe(one));
      let isOver = false;
      const made = new Set<string>();
      async function createAll(): Promise<void> {
        for (let n = 0; !isOver; n++) {
          const { owner, at } = lanes[n % lanes.length] ?? assert.fail();
          const event = one.ids.next('evt');
          const { create } = n % 2 ? one : other;
          // Creates with an unknown outcome may be sent or not.
          await create(owner, undefined, { at: at(), event }).then(
            () => made.add(event),
            () => {},
          );
        }
      }
      const creating = Array.from({ length: 4 }, createAll);
      for (let kills = 0; kills < 24; kills++) {
        await pause(100);
        await sql(`SELECT pg_terminate_backend(pid)
          FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'plant-store'
          ORDER BY random()
          LIMIT 1`);
      }
      isOver = true;
      await Promise.all(creating);
      using watch = startWatch();
      await until(() => {
        const received = new Set(eventsIn(receiver.received));
        return [...made].every((event) => received.has(event)) || undefined;
      });
      const tookMs = watch.ms();
      assert.ok(tookMs < 5_000, `after ${tookMs} ms`);
      await until(async () => {
        const { rows } = await sql(`SELECT count(*)::int AS pending FROM deliveries WHERE state = 'pending'`);
        return rows[0]?.pending === 0 || undefined;
      });
    });

    test('a receiver gets no more requests at a time than one replica would make', async () => {
      let underWay = 0;
      let most = 0;
      receiver.usually((_, response) => {
        most = Math.max(most, ++underWay);
        setTimeout(() => {
          underWay--;
          response.writeHead(204).end();
        }, 10);
      });
      const [one, other] = [await delivering(), await delivering()];
      const { owner, at } = await subscribe(one);
      await Promise.all(
        Array.from({ length: 200 }, (_, n) => (n % 2 ? one : other).create(owner, undefined, { at: at() })),
      );
      await receiver.receive(200);
      assert.equal(receiver.received.length, 200);
      assert.equal(most, 4);
    });

    test("a webhook's rate holds even when its lane moves to another replica", async () => {
      const rate = 20;
      const [one, other] = [await delivering(), await delivering()];
      const { owner, hook, at } = await subscribe(one, rate);
      await Promise.all(Array.from({ length: 60 }, () => one.create(owner, undefined, { at: at() })));
      await receiver.receive(10);
      const first = one.owners.mayServe(hook) ? one : other;
      await first.delivery.stop();
      const received = await receiver.receive(60);
      assert.equal(new Set(eventsIn(received)).size, 60);
      const times = received.map((request) => request.at);
      const inSecond = (from: number) => times.filter((time) => time >= from && time < from + 1000).length;
      const busiest = Math.max(...times.map(inSecond));
      assert.ok(busiest <= rate + 2 * rate * 0.1, `${busiest} in a second`);
    });

    test('when a replica stops, another sends the waiting deliveries within a moment, and none twice', async () => {
      const one = await delivering();
      await delivering();
      const { owner, at } = await subscribe(one);
      for (let n = 0; n < 50; n++) await one.create(owner, undefined, { at: at() });
      await one.delivery.stop();
      for (let n = 0; n < 50; n++) await one.create(owner, undefined, { at: at() });
      using watch = startWatch();
      const received = await receiver.receive(100);
      assert.ok(watch.ms() < limits.leaseMs / 2);
      assert.equal(new Set(eventsIn(received)).size, 100);
    });
  });
});
