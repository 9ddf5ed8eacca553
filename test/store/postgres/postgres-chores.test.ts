import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { silentLog, systemRuntime } from '../../../src/runtime.ts';
import { LOCKS } from '../../../src/store/postgres/engine/locks.ts';
import type { Store } from '../../../src/store/store.ts';
import { type HousekeeperParts, startHousekeeper } from '../../../src/webhooks/housekeeper.ts';
import { AT, type Given, given } from '../../../testkit/stores/given.ts';
import { makeStoreDatabase, openStoreIn, type TestDatabase } from '../../../testkit/stores/postgres.ts';

describe('chores that must wait', () => {
  let database: TestDatabase;
  let store: Store;
  let replica: Given;
  let session: pg.Client;

  before(async () => {
    database = await makeStoreDatabase();
    store = await openStoreIn(database.url);
    replica = given(store);
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
  });
  after(async () => {
    await session.end();
    await store.close();
    await database.drop();
  });

  const advance = () => store.chores.advance({ now: AT, limit: 10 });

  /** Deletes a webhook, and a user, while a transaction of the session is open. */
  async function deleteDuringTransaction(): Promise<void> {
    const { owner, hook } = await replica.subscriber(0);
    const { name } = await replica.user();
    await session.query('BEGIN');
    await session.query('SELECT pg_current_xact_id()');
    await store.webhooks.deleteWebhook(owner, hook);
    await store.access.deleteUser(name, AT);
  }

  test('for an older transaction report that nothing moves, and continue after it', async () => {
    await deleteDuringTransaction();
    assert.deepEqual([await store.chores.hasChores(AT), await advance()], [true, false]);
    await session.query('ROLLBACK');
    assert.deepEqual([await advance(), await advance()], [true, false]);
    assert.equal(await store.chores.hasChores(AT), false);
  });

  test('remove all deliveries of a deleted webhook', async () => {
    const { owner, hook } = await replica.subscriber(7);
    const deliveries = 'SELECT count(*)::int AS count FROM deliveries WHERE webhook = $1';
    assert.deepEqual((await session.query(deliveries, [hook])).rows, [{ count: 7 }]);
    await store.webhooks.deleteWebhook(owner, hook);
    await replica.finishChores();
    assert.deepEqual((await session.query(deliveries, [hook])).rows, [{ count: 0 }]);
  });

  test('for another replica report that nothing moves', async () => {
    await replica.user().then(({ name }) => store.access.deleteUser(name, AT));
    await session.query('BEGIN');
    await session.query('SELECT pg_advisory_xact_lock($1::int, $2::int)', LOCKS.chores);
    assert.deepEqual([await store.chores.hasChores(AT), await advance()], [true, false]);
    await session.query('ROLLBACK');
    await replica.finishChores();
  });

  test('are tried once by a housekeeper until it polls again', async () => {
    await deleteDuringTransaction();
    const tried = Promise.withResolvers<boolean>();
    let tries = 0;
    const housekeeper = startHousekeeper({
      store: {
        ...store.chores,
        async advance(slice) {
          tries++;
          const hasMoved = store.chores.advance(slice);
          tried.resolve(hasMoved);
          return hasMoved;
        },
      },
      runtime: systemRuntime(silentLog),
      retentionDays: 30,
      // The type has the usual numbers as literals; others work as well.
      bounds: { pauseMs: 0, pollMs: 60_000 } as unknown as NonNullable<HousekeeperParts['bounds']>,
    });
    assert.equal(await tried.promise, false);
    // One that does not wait would have tried by then: its questions take turns with these.
    for (let n = 0; n < 20; n++) assert.equal(await store.chores.hasChores(AT), true);
    await housekeeper.stop();
    assert.equal(tries, 1);
    await session.query('ROLLBACK');
    await replica.finishChores();
  });
});
