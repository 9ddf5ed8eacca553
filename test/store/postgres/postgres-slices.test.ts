import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { countedDatabase } from '../../../testkit/stores/counted-database.ts';

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
         CASE n % 2 WHEN 0 THEN 'failed' ELSE 'delivered' END, 1, 1, 0, false, 0
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

  test('of the removal of a webhook', async () => {
    await database.withStore(({ webhooks }) => webhooks.deleteWebhook(1, 'wh_1'));
    const read = await readPerSlice();
    assert.ok(read < 20 * LIMIT, `${read} rows`);
  });
});
