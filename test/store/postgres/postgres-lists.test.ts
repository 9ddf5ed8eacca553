import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { countedDatabase } from '../../../testkit/stores/counted-database.ts';

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
