import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { database as limits } from '../../../src/limits.ts';
import { silentLog } from '../../../src/runtime.ts';
import { readMigrations } from '../../../src/store/migrations.ts';
import { openDatabase } from '../../../src/store/postgres/engine/database.ts';
import { LOCKS } from '../../../src/store/postgres/engine/locks.ts';
import { migrate } from '../../../src/store/postgres/engine/migrate.ts';
import {
  administer,
  makeDatabase,
  makeStoreDatabase,
  type TestDatabase,
  useServer,
} from '../../../testkit/stores/postgres.ts';

/** Migrations whose role or database sets defaults for its sessions, and what killed ones leave on the server. */

/** Kept between tests. */
let server: Awaited<ReturnType<typeof useServer>>;
before(async () => {
  server = await useServer();
});
after(() => server.leave());

/** Opens a database whose new sessions begin with these settings; `other` and that of `untilFound` are without them. */
async function opened(t: TestContext, { url, drop }: TestDatabase, settings: Record<string, string> = {}) {
  // Before they apply.
  const [other, watcher] = [await connect(url), await connect(url)];
  const name = new URL(url).pathname.slice(1);
  for (const [setting, value] of Object.entries(settings)) {
    await administer(url, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  }
  const parts = { connections: 2, pooled: false, log: silentLog };
  const database = openDatabase({ url: parseDatabaseUrl(url), ...parts });
  t.after(async () => {
    await Promise.all([other.end(), watcher.end(), database.close()]);
    await drop();
  });
  /** Resolves once the query finds a row. A transaction would see the same sessions each time. */
  async function untilFound(query: string): Promise<void> {
    while ((await watcher.query(query)).rowCount === 0) await pause(20);
  }
  return { url, database, other, untilFound };
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}

/** A store of the version before the index of events by plant, with an event. */
async function withoutIndex(): Promise<TestDatabase> {
  const database = await makeStoreDatabase();
  await administer(
    database.url,
    `DROP INDEX events_by_plant;
     DELETE FROM migrations WHERE version > 10;
     INSERT INTO events (owner, id, tx, type, plant, name, created_at)
     VALUES (1, 'evt_1', 1, 'plant.created', 1, 'Fir', 0)`,
  );
  return database;
}

/** Treats every table as large. */
const bounds = { ...limits, briefIndexBytes: 0, migrationPauseMs: 20, migrationTellMs: 20 };
const APPLIED = [
  '0011_event_plants.sql',
  '0012_trigger_beside_counters.sql',
  '0013_guarded_functions.sql',
  '0014_touched_users.sql',
];

/** Longer than the timeouts below. */
const IS_WAITING = `SELECT 1
  FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'plant-store migrate'
    AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '400ms'`;

/** For the role, or here for the database. */
const SHORT = {
  statement_timeout: '200ms',
  lock_timeout: '100ms',
  idle_in_transaction_session_timeout: '200ms',
  transaction_timeout: '200ms',
};

test('programs that create the store together apply each migration once, whatever isolation their role has', async (t) => {
  const { database } = await opened(t, await makeDatabase(), {
    default_transaction_isolation: 'repeatable read',
  });
  const applied = await Promise.all([1, 2, 3].map(() => migrate(database, { now: 0, onWait() {} })));
  assert.deepEqual(
    applied.flat().sort(),
    readMigrations('postgres').map(({ name }) => name),
  );
});

test("the role's timeouts do not end an index build", async (t) => {
  const { database, other, untilFound } = await opened(t, await withoutIndex(), {
    ...SHORT,
    idle_session_timeout: '200ms',
  });
  await other.query('BEGIN; LOCK TABLE events IN ROW EXCLUSIVE MODE');
  const migrated = migrate(database, { now: 0, onWait() {}, bounds });
  const failed = migrated.then(() => assert.fail('it did not wait'));
  await Promise.race([untilFound(IS_WAITING), failed]);
  await other.query('COMMIT');
  assert.deepEqual(await migrated, APPLIED);
});

test('a build that the server continues after its program was killed is waited for, not repeated', async (t) => {
  const { url, database, other, untilFound } = await opened(t, await withoutIndex());
  const killed = await connect(url);
  killed.on('error', () => {});
  // Its snapshot is older than the index: the build waits for its end.
  await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT');
  const build = `CREATE INDEX CONCURRENTLY events_by_plant ON events (owner, plant, id) WHERE type = 'plant.created'`;
  const lost = assert.rejects(killed.query(build));
  await untilFound(`SELECT 1 FROM pg_stat_progress_create_index WHERE phase = 'waiting for old snapshots'`);
  // The library's types omit the connection.
  (killed as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  await lost;

  const oid = async () => (await administer(url, `SELECT 'events_by_plant'::regclass::oid AS oid`)).rows;
  const begun = await oid();
  const waits = Promise.withResolvers<void>();
  const migrated = migrate(database, { now: 0, onWait: waits.resolve, bounds });
  await waits.promise;
  await other.query('COMMIT');
  assert.deepEqual(await migrated, APPLIED);
  assert.deepEqual(await oid(), begun);
});

for (const pooled of [false, true]) {
  const where = pooled ? ', also in a pooled session' : '';
  test(`the role's timeouts do not end a wait for another migration${where}`, async (t) => {
    const { url, other, untilFound } = await opened(t, await makeStoreDatabase(), SHORT);
    const parts = { connections: 2, pooled, log: silentLog };
    const database = openDatabase({ url: parseDatabaseUrl(url), ...parts });
    t.after(database.close);
    await other.query(`SELECT pg_advisory_lock(${LOCKS.migration})`);
    const migrated = migrate(database, { now: 0, onWait() {} });
    const failed = migrated.then(() => assert.fail('it did not wait'));
    await Promise.race([untilFound(IS_WAITING), failed]);
    await other.query(`SELECT pg_advisory_unlock(${LOCKS.migration})`);
    assert.deepEqual(await migrated, []);
  });
}
