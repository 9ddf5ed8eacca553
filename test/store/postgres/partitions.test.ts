import assert from 'node:assert/strict';
import { after, before, describe, mock, test } from 'node:test';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { silentLog } from '../../../src/runtime.ts';
import type { Lanes } from '../../../src/store/lane-threads.ts';
import { ANY_CHORE } from '../../../src/store/postgres/deliveries/chores.ts';
import { UNSETTLED } from '../../../src/store/postgres/deliveries/events.ts';
import { FIND_WORK } from '../../../src/store/postgres/deliveries/lanes.ts';
import { SOME_UNFOLDED } from '../../../src/store/postgres/plants/plants.ts';
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/store.ts';
import { deliveriesTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given, given, outcomeOf } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import {
  administer,
  fencesOf,
  makeStoreDatabase,
  type TestDatabase,
} from '../../../testkit/stores/postgres.ts';

/**
 * Counts the partitions that PostgreSQL reads for the statements of every request and delivery, according to
 * auto_explain: if it is one, the tables can be spread by owner.
 */

const PARTITIONS = 8;
/** Background searches over all webhooks and users, including those of other tests. */
const OF_MANY = [FIND_WORK.text, UNSETTLED.text, ANY_CHORE.text, SOME_UNFOLDED.text];
/** The server may plan each call, or once for all calls, as it sees fit. */
const MODES = ['force_custom_plan', 'force_generic_plan'];
/** Some rows of each kind, so that the planner sees realistic tables. */
const FILL = [
  `INSERT INTO users (name, created_at) SELECT 'filler ' || n, 0 FROM generate_series(1, 40) n`,
  `INSERT INTO plants (owner, id, name, folded, created_at)
   SELECT u.id, n, 'Alder', 'alder', 0 FROM users u, generate_series(1, 500) n`,
  `INSERT INTO events (owner, id, tx, type, plant, name, created_at)
   SELECT u.id, 'evt_0' || lpad(n::text, 25, '0'), 1, 'plant.created', n, 'Alder', 0
   FROM users u, generate_series(1, 500) n`,
  `INSERT INTO deliveries (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence)
   SELECT owner, 'wh_' || owner, id, owner, CASE WHEN plant < 450 THEN 'delivered' ELSE 'pending' END, 0, 0, ${AT},
     false, 0
   FROM events`,
  `INSERT INTO attempts (subscriber, webhook, event, fence, at, duration_ms)
   SELECT subscriber, webhook, event, n, 0, 5 FROM deliveries, generate_series(1, 5) n`,
  'ANALYZE',
];

type Plan = { 'Relation Name'?: string; 'Actual Loops'?: number; Plans?: Plan[] };
type Run = { text: string; partitions: Map<string, Set<number>> };

const runs: Run[] = [];
let database: TestDatabase;

before(async () => {
  const { connect } = pg.Client.prototype;
  mock.method(pg.Client.prototype, 'connect', function (this: pg.Client, ...args: unknown[]) {
    this.on('notice', ({ message }) => hear(message ?? ''));
    return Reflect.apply(connect, this, args);
  });
  database = await makeStoreDatabase(PARTITIONS);
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    // As a notice it would not reach the service's sessions.
    'auto_explain.log_level': 'warning',
  };
  await (await open()).close();
  for (const statement of FILL) await administer(database.url, statement);
  for (const [name, value] of Object.entries(settings)) await setForAll(name, value);
});

after(async () => {
  mock.restoreAll();
  await database.drop();
});

for (const mode of MODES) {
  describe(`with ${mode}`, () => {
    let store: PostgresStore;
    let lanes: Lanes;
    let ready: Given;
    before(async () => {
      await setForAll('plan_cache_mode', mode);
      store = await open();
      lanes = await lanesOf(store);
      ready = given(store, { lanes: lanes.store, fenceOf: fencesOf(lanes) });
    });
    after(async () => {
      await lanes.close();
      await store.close();
    });

    test('creating plants reads one partition', async () => {
      const { owner } = await ready.subscriber(1);
      const made = await during(async () => {
        const id = await ready.create(owner);
        await Promise.all([ready.create(owner), ready.create(owner, 77n), ready.create(owner)]);
        // In the way of the next id, which is then searched for.
        await ready.create(owner, id + 3n);
        assert.equal(await ready.create(owner), id + 4n);
      });
      assertOnePartition(made, ['plants']);
    });

    test('creating plants with a limit per user reads one partition', async () => {
      const { owner } = await ready.subscriber(1);
      const limited = await open(1000);
      const made = await during(async () => {
        const { create } = given(limited);
        await create(owner);
        await Promise.all([create(owner), create(owner, 77n), create(owner)]);
      });
      await limited.close();
      assertOnePartition(made, ['plants']);
    });

    test('a batch of several users reads only the partition of each', async () => {
      const owners: number[] = [];
      for (let n = 0; n < 3; n++) owners.push((await ready.subscriber(1)).owner);
      const own = await Promise.all(owners.map(partitionOf));
      const made = await during(() => Promise.all(owners.map((owner) => ready.create(owner))));
      const strange = made.flatMap(({ partitions }) =>
        [...partitions.values()].flatMap((looked) => [...looked].filter((n) => !own.includes(n))),
      );
      assert.deepEqual(strange, []);
    });

    test('deleting a plant reads one partition', async () => {
      const { owner } = await ready.subscriber(2);
      assertOnePartition(await during(() => store.plants.delete(owner, 1n)), ['plants']);
    });

    test('a list reads one partition for each of its pages and for its end', async () => {
      const { owner } = await ready.subscriber(3);
      const read = await during(async () => {
        await ready.walk(owner, 2);
        await store.plants.end({ viewer: owner, from: undefined, count: undefined });
        await store.plants.end({ viewer: owner, from: undefined, count: 2 });
        for (const order of ['descending', { prefix: 'al' }] as const) {
          await ready.read(owner, { order, limit: 2 });
          await store.plants.end({ viewer: owner, order, from: undefined, count: 2 });
        }
        await store.plants.hasNames(owner);
      });
      assertOnePartition(read, ['plants']);
    });

    test('reading a lane and recording its outcomes reads one partition', async () => {
      const { hook } = await ready.subscriber(8);
      const done = await during(async () => {
        const [first, second, third, fourth] = await ready.due(hook);
        assert.ok(first && second && third && fourth);
        const next = { state: 'pending', due: AT + 5, step: 1 } as const;
        const failed = outcomeOf(second, { reason: 'It answered 500.', next });
        await lanes.store.record([outcomeOf(first), failed, outcomeOf(third)]);
        // Only an outcome that may have been recorded before looks for its attempt.
        await lanes.store.record([outcomeOf(first)]);
        await lanes.store.suspect(hook, fourth.event.id, fourth.generation, 1);
      });
      assertOnePartition(done, ['deliveries', 'events', 'attempts']);
    });

    test('a page of the feed reads one partition', async () => {
      const { owner } = await ready.subscriber(3);
      const read = await during(async () => {
        const page = await store.events.events({ viewer: owner, after: undefined, limit: 2 });
        await store.events.events({ viewer: owner, after: page?.next, limit: 100 });
        await store.events.latestPosition(owner);
      });
      assertOnePartition(read, ['events']);
    });

    test('lists of deliveries, a single one and their health read one partition', async () => {
      const { owner, hook } = await ready.subscriber(3);
      const [claim] = await ready.attemptAll(hook);
      const read = await during(async () => {
        for (const state of [undefined, 'pending', 'delivered'] as const) {
          await deliveriesTo(store, { owner, id: hook }, { state, limit: 2 });
        }
        const plant = { viewer: owner, plant: 1n, from: '', before: undefined, limit: 2 };
        const events = await store.deliveries.plantEvents(plant);
        const page = { owner, webhook: hook, state: undefined, from: '', after: undefined, limit: 2 };
        await store.deliveries.page({ ...page, events });
        await store.deliveries.page({ ...page, webhook: undefined, events: undefined });
        await store.deliveries.page({ ...page, events: [claim?.event.id ?? ''], limit: 1 });
        await store.deliveries.history(owner, hook, claim?.event.id ?? '');
        await store.deliveries.health(hook);
      });
      assertOnePartition(read, ['deliveries', 'events', 'attempts']);
    });

    test('resending reads one partition', async () => {
      const { owner, hook } = await ready.subscriber(3);
      const [claim] = await ready.attemptAll(hook);
      assert.ok(claim);
      const request = { owner, webhook: hook, from: '' };
      const done = await during(async () => {
        await store.deliveries.redeliver({ ...request, event: claim.event.id, at: AT });
        for (const state of [undefined, 'delivered'] as const) {
          await store.deliveries.countReplay({ ...request, state });
          await store.deliveries.startReplay({ ...request, state }, 10);
        }
        await ready.finishChores();
      });
      assertOnePartition(done, ['deliveries', 'events']);
    });

    test('looking up a token, or the answer to a key, reads none', async () => {
      const { owner } = await ready.subscriber(1);
      const read = await during(async () => {
        await store.access.findToken('0'.repeat(64));
        await store.keys.keptAnswer({ user: owner, method: 'POST', path: '/plants', key: 'k' }, AT);
      });
      assert.ok(read.length >= 2);
      assert.deepEqual(
        read.filter(({ partitions }) => partitions.size > 0),
        [],
      );
    });
  });
}

function open(maxPlantsPerUser?: number): Promise<PostgresStore> {
  return openPostgresStore({
    url: parseDatabaseUrl(database.url),
    connections: 2,
    pooled: false,
    clock: { now: Date.now },
    log: silentLog,
    deliveryDelayMs: 0,
    maxPlantsPerUser,
  });
}

/** For new sessions. */
async function setForAll(name: string, value: string): Promise<void> {
  const of = new URL(database.url).pathname.slice(1);
  await administer(database.url, `ALTER DATABASE ${of} SET ${name} = '${value}'`);
}

/** The partition of each table that has a user's rows. */
async function partitionOf(owner: number): Promise<number> {
  const { rows } = await administer(
    database.url,
    `SELECT n
     FROM generate_series(0, ${PARTITIONS - 1}) n
     WHERE satisfies_hash_partition('plants'::regclass, ${PARTITIONS}, n, ${owner}::bigint)`,
  );
  return rows[0].n;
}

/** The statements that ran during the work. */
async function during(work: () => Promise<unknown>): Promise<Run[]> {
  runs.length = 0;
  await work();
  return runs.filter(({ text }) => !OF_MANY.includes(text));
}

/** @param tables that some statement must have read, so that no unseen one passes */
function assertOnePartition(done: readonly Run[], tables: readonly string[]): void {
  const several = done.flatMap(({ text, partitions }) =>
    [...partitions]
      .filter(([, looked]) => looked.size > 1)
      .map(([table, looked]) => `${looked.size} of ${table}: ${text.replaceAll(/\s+/g, ' ').slice(0, 300)}`),
  );
  assert.deepEqual(several, []);
  const seen = new Set(done.flatMap(({ partitions }) => [...partitions.keys()]));
  assert.deepEqual(
    tables.filter((table) => !seen.has(table)),
    [],
  );
}

function hear(message: string): void {
  const [, json] = /^duration: .*? plan:\n(.*)$/s.exec(message) ?? [];
  if (json === undefined) return;
  const { 'Query Text': text, Plan: plan } = JSON.parse(json);
  const partitions = new Map<string, Set<number>>();
  collect(plan, partitions);
  runs.push({ text, partitions });
}

/** Collects the partitions that were read: a part of the plan that did not run has no loops. */
function collect(plan: Plan, into: Map<string, Set<number>>): void {
  const [, table, n] = /^(plants|events|deliveries|attempts)_(\d+)$/.exec(plan['Relation Name'] ?? '') ?? [];
  if (table !== undefined && (plan['Actual Loops'] ?? 0) > 0) {
    into.set(table, (into.get(table) ?? new Set()).add(Number(n)));
  }
  for (const part of plan.Plans ?? []) collect(part, into);
}
