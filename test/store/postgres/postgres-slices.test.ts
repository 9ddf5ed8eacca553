import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { feeds } from '../../../src/limits.ts';
import type { Position } from '../../../src/webhooks/delivery/port.ts';
import { countedDatabase } from '../../../testkit/stores/counted-database.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';

/**
 * A slice of long work reads few rows on PostgreSQL, however many are left. The others have few deliveries, so the
 * server expects few of this webhook, too.
 */

const OTHERS = 300;
const OF_EACH = 50;
const ROWS = 15_000;
const LIMIT = 100;
/** From the sixth run of a statement on, the server may use a plan for any values. */
const SLICES = 8;

describe('slices of long work on PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof countedDatabase>>;
  before(async () => {
    database = await countedDatabase(
      `INSERT INTO users (id, name, created_at) SELECT n, 'user-' || n, 0 FROM generate_series(1, ${OTHERS}) n;
       INSERT INTO webhooks (owner, id, url, status, private_key, public_key, created_at)
       SELECT id, 'wh_' || id, '', 'enabled', '', '', 0 FROM users;
       INSERT INTO deliveries (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence)
       SELECT u.id, 'wh_' || u.id, 'evt_' || lpad(n::text, 10, '0') || repeat('0', 16), u.id,
         CASE n % 100 WHEN 0 THEN 'delivered' ELSE 'failed' END, 1, 1, 0, false, 0
       FROM users u, generate_series(1, CASE u.id WHEN 1 THEN ${ROWS} ELSE ${OF_EACH} END) n;
       INSERT INTO attempts (subscriber, webhook, event, fence, at, duration_ms)
       SELECT subscriber, webhook, event, 1, 0, 0 FROM deliveries`,
    );
  });
  after(() => database.drop());

  const readPerSlice = async () => {
    const read = await database.rowsReadBy(async ({ chores }) => {
      for (let n = 0; n < SLICES; n++) assert.equal(await chores.advance({ now: 0, limit: LIMIT }), true);
    });
    return read / SLICES;
  };

  for (const state of ['delivered', 'failed'] as const) {
    test(`of a replay of ${state} deliveries`, async () => {
      await database.withStore(({ deliveries }) =>
        deliveries.startReplay({ owner: 1, webhook: 'wh_1', from: '', state }, 10),
      );
      const read = await readPerSlice();
      await database.client.query('DELETE FROM replays');
      assert.ok(read < 20 * LIMIT, `${read} rows`);
    });
  }

  test('of the removal of a share', async () => {
    await database.client.query(`INSERT INTO withdrawals VALUES (1, 'wh_1', 1, '', 'evt_z')`);
    const read = await readPerSlice();
    await database.client.query('DELETE FROM withdrawals');
    assert.ok(read < 20 * LIMIT, `${read} rows`);
  });

  test('of a lane reads only some deliveries of a removed share; the last slice finds what follows them', async () => {
    await database.client.query(`INSERT INTO withdrawals VALUES (1, 'wh_1', 2, '', 'evt_z')`);
    await database.client.query(`UPDATE deliveries SET state = 'pending', owner = 2 WHERE webhook = 'wh_1'`);
    const last = `evt_00000${ROWS}${'0'.repeat(16)}`;
    await database.client.query(`UPDATE deliveries SET owner = 1, due = 1 WHERE event = '${last}'`);
    await database.client.query(`INSERT INTO events (owner, id, tx, type, plant, name, created_at)
      VALUES (1, '${last}', '0', 'plant.created', 1, 'Fern', 0)`);
    await database.client.query('VACUUM ANALYZE deliveries');
    const request = { webhook: 'wh_1', now: 1, limit: 32, askedLimit: 32 };
    let reads = 0;
    const read = await database.rowsReadBy(async (store) => {
      const lanes = await lanesOf(store);
      const found: number[] = [];
      let after: Position | undefined;
      for (reads = 0; reads === 0 || after; reads++) {
        const { due, through } = await lanes.store.read({ ...request, after });
        for (const delivery of due) found.push(delivery.due);
        after = through;
      }
      await lanes.close();
      assert.deepEqual(found, [1]);
    });
    await database.client.query('DELETE FROM withdrawals');
    assert.ok(reads > 1 && read / reads < 4 * feeds.walked, `${read} rows in ${reads} reads`);
  });

  test('of the activity in an hour that holds too much, however many webhooks there are', async () => {
    await database.client.query(
      `INSERT INTO webhooks (owner, id, url, status, private_key, public_key, created_at)
       SELECT 1, 'wh_x' || n, '', 'enabled', '', '', 0 FROM generate_series(1, 20) n;
       INSERT INTO deliveries (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence)
       SELECT 1, 'wh_x' || w, 'evt_1' || n, 1, 'failed', 1, 1, 0, false, 0
       FROM generate_series(1, 20) w, generate_series(100, 500) n`,
    );
    const hour = { viewer: 1, from: 'evt_1', before: 'evt_2', most: LIMIT };
    const read = await database.rowsReadBy(async ({ deliveries }) => {
      assert.equal(await deliveries.activity(hour), undefined);
    });
    assert.ok(read < 5 * LIMIT, `${read} rows`);
  });

  test('of the removal of a webhook', async () => {
    await database.withStore(({ webhooks }) => webhooks.deleteWebhook(1, 'wh_1'));
    const read = await readPerSlice();
    assert.ok(read < 20 * LIMIT, `${read} rows`);
  });
});
