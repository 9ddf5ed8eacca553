import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { database, delivery, lanes as limits } from '../../../src/limits.ts';
import { given } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import { administer, makeStoreDatabase, openStoreIn } from '../../../testkit/stores/postgres.ts';

const READ_S = 1.5;
const PATIENCE_MS = 30_000;

/** The URL of a store, for a role that takes this long to read a row of the table. */
async function slowStore(t: TestContext, table: string): Promise<string> {
  const { url, drop } = await makeStoreDatabase();
  const role = `role_${randomBytes(6).toString('hex')}`;
  await administer(
    url,
    `CREATE ROLE ${role} LOGIN PASSWORD 'plants';
     GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role};
     ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
     CREATE POLICY writes ON ${table} FOR INSERT WITH CHECK (true);
     CREATE POLICY slow ON ${table} FOR SELECT USING (pg_sleep(${READ_S}) IS NOT NULL)`,
  );
  t.after(async () => {
    await administer(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await drop();
  });
  return Object.assign(new URL(url), { username: role, password: 'plants' }).href;
}

/** Reads again and again until `isEnough`; some of them may be refused. */
async function crowd(reads: readonly (() => Promise<unknown>)[], isEnough: () => Promise<boolean>) {
  let isOver = false;
  const reading = reads.map(async (read) => {
    while (!isOver) await read().catch(() => {});
  });
  try {
    for (const late = performance.now() + PATIENCE_MS; !(await isEnough()); await pause(100))
      assert.ok(performance.now() < late, 'it takes too long');
  } finally {
    isOver = true;
    await Promise.all(reading);
  }
}

// At the same time, since both mostly wait.
describe('a replica', { concurrency: true }, () => {
  test('whose reads of lanes are slow keeps its lease', async (t) => {
    const url = await slowStore(t, 'webhook_secrets');
    // As many connections as by default.
    const store = await openStoreIn(url, { sendingConnections: 3 });
    t.after(() => store.close());
    const lanes = await lanesOf(store);
    t.after(() => lanes.close());
    const { subscriber } = given(store);
    const hooks = await Promise.all(Array.from({ length: delivery.readsAtOnce }, () => subscriber(1)));
    const replicas = async () => (await administer(url, 'SELECT id, alive_until FROM replicas')).rows;
    const [first] = await replicas();
    assert.ok(first);

    const request = { now: Date.now(), after: undefined, limit: 1, askedLimit: 1 };
    await crowd(
      hooks.map(
        ({ hook }) =>
          () =>
            lanes.store.read({ webhook: hook, ...request }),
      ),
      async () => {
        const [now] = await replicas();
        assert.equal(now?.id, first.id, 'it lost its lease');
        return Number(now.alive_until) > Number(first.alive_until) + 2 * limits.leaseMs;
      },
    );
  });

  test('that many slow reads wait for stays ready, and keeps what it knows of tokens', async (t) => {
    const url = await slowStore(t, 'webhooks');
    const store = await openStoreIn(url);
    t.after(() => store.close());
    const { webhook, user } = given(store);
    const { id: owner } = await user();
    await webhook(owner);
    const epoch = store.access.accessEpoch();
    const endsAt = performance.now() + 3 * database.trustedMs;
    await crowd(
      Array.from({ length: 30 }, () => () => store.webhooks.webhooks(owner)),
      async () => {
        store.check();
        assert.equal(store.access.accessEpoch(), epoch);
        return performance.now() > endsAt;
      },
    );
  });
});
