import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { silentLog } from '../../../src/runtime.ts';
import { listEnds } from '../../../src/store/list-end.ts';
import { visibleOwners } from '../../../src/store/postgres/access/visible-owners.ts';
import { type Database, openDatabase } from '../../../src/store/postgres/engine/database.ts';
import { pageReads } from '../../../src/store/postgres/plants/page-reads.ts';
import { endReads, plantPages } from '../../../src/store/postgres/plants/plants.ts';
import { countedDatabase } from '../../../testkit/stores/counted-database.ts';
import { administer, makeStoreDatabase } from '../../../testkit/stores/postgres.ts';

/** A page of a list reads few rows on PostgreSQL, however many the store has. */

const PLANTS = 60_000;
const HOOKS = 10;

describe('pages of lists on PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof countedDatabase>>;
  before(async () => {
    database = await countedDatabase(
      `INSERT INTO users (name, created_at) VALUES ('ann', 0), ('bob', 0);
       INSERT INTO plants (owner, id, name, folded, created_at)
       SELECT 1, n, 'Alder ' || n % 1000, 'alder ' || n % 1000, 0 FROM generate_series(1, ${PLANTS}) n;
       INSERT INTO webhooks (owner, id, url, status, private_key, public_key, created_at)
       SELECT 1, 'wh_' || n, '', 'enabled', '', '', 0 FROM generate_series(0, ${HOOKS - 1}) n;
       INSERT INTO events (owner, id, tx, type, plant, name, created_at)
       SELECT 1, 'evt_' || lpad(n::text, 10, '0') || repeat('0', 16), 1, 'plant.created', n, 'Alder', 0 FROM generate_series(1, ${PLANTS}) n;
       INSERT INTO deliveries (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence)
       SELECT 1, 'wh_' || plant % ${HOOKS}, id, 1, CASE plant % 7 WHEN 0 THEN 'failed' ELSE 'delivered' END, 1, 1, 0, false, 0
       FROM events`,
    );
  });
  after(() => database.drop());

  const LIMIT = 20;
  const page = { viewer: 1, from: undefined, through: undefined, limit: LIMIT, fields: ['id'] as const };

  test('by name and in descending order, deep in the list and with a beginning that many names have', async () => {
    for (const more of [
      { order: { prefix: 'alder 5' } },
      { order: { prefix: 'al' } },
      { order: { prefix: 'zzz' } },
      { order: { prefix: 'al' }, from: { owner: 1, name: 'alder 77', id: 30_077n } },
      { order: 'descending' },
      { order: 'descending', from: { owner: 1, id: 30_000n } },
    ] as const) {
      const read = await database.rowsReadBy((store) => store.plants.page({ ...page, ...more }));
      assert.ok(read < 20 * LIMIT, `${inspect(more)}: ${read} rows`);
    }
  });

  test('of the deliveries of all webhooks, in any state but delivered, and of one plant', async () => {
    const page = {
      owner: 1,
      webhook: undefined,
      events: undefined,
      from: '',
      after: undefined,
      limit: LIMIT,
    };
    for (const state of [undefined, 'failed'] as const) {
      const read = await database.rowsReadBy((store) => store.deliveries.page({ ...page, state }));
      assert.ok(read < 20 * LIMIT * HOOKS, `${state}: ${read} rows`);
    }
    for (const state of [undefined, 'failed', 'delivered'] as const) {
      const read = await database.rowsReadBy(async ({ deliveries }) => {
        assert.equal((await deliveries.page({ ...page, limit: 5, state })).length, 5);
      });
      assert.ok(read < 7 * HOOKS, `${state}, fewer than webhooks: ${read} rows`);
    }
    const ofPlant = { viewer: 1, plant: 777n, from: '', before: undefined, limit: LIMIT };
    const read = await database.rowsReadBy(async (store) => {
      const events = await store.deliveries.plantEvents(ofPlant);
      assert.equal(events.length, 1);
      assert.equal((await store.deliveries.page({ ...page, state: undefined, events })).length, 1);
    });
    assert.ok(read < 20 * HOOKS, `of a plant: ${read} rows`);
  });
});

test('a search among the plants of 200 users, most of whom have no such name, takes few statements', async (t) => {
  const { url, drop } = await makeStoreDatabase();
  t.after(drop);
  await administer(
    url,
    `INSERT INTO users (name, created_at) SELECT 'user-' || n, 0 FROM generate_series(1, 201) n;
     INSERT INTO shares (owner, viewer, created_at) SELECT n, 1, 0 FROM generate_series(2, 201) n;
     INSERT INTO plants (owner, id, name, folded, created_at)
     SELECT n, 1, name, lower(name), 0
     FROM generate_series(1, 201) n, LATERAL (SELECT CASE n WHEN 150 THEN 'Elm' ELSE 'Alder' END AS name) named`,
  );
  const database = openDatabase({
    url: parseDatabaseUrl(url),
    connections: 1,
    pooled: false,
    log: silentLog,
  });
  t.after(database.close);
  let statements = 0;
  const read: Database['read'] = (...statement) => {
    statements++;
    return database.read(...statement);
  };
  const ends = endReads(
    { read },
    visibleOwners({ read }, () => 0),
  );
  const page = plantPages(pageReads({ read }, 1), ends);
  const order = { prefix: 'e' };
  const found = await page({
    viewer: 1,
    order,
    from: undefined,
    through: undefined,
    limit: 5,
    fields: ['id'],
  });
  assert.deepEqual(
    { ...found, json: JSON.parse(found.json) },
    { json: { id: 1 }, count: 1, next: undefined },
  );
  const last = await listEnds(ends).lastPage({ viewer: 1, order, count: 5 });
  assert.deepEqual(last, { owner: 150, id: 1n, name: 'elm' });
  assert.ok(statements < 10, `${statements} statements`);
});
