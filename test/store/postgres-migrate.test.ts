import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { parseDatabaseUrl } from '../../src/database-url.ts';
import { silentLog } from '../../src/runtime.ts';
import { openDatabase } from '../../src/store/postgres/database.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { administer, makeDatabase, makePartitions } from '../harness/postgres.ts';

/** A store as the version before the last migration left it, and a transaction that reads it for long. */
async function dumped(t: TestContext) {
  const { url, drop } = await makeDatabase();
  await makePartitions(url, 2);
  await administer(url, 'ALTER TABLE events DROP COLUMN trace; DELETE FROM migrations WHERE version > 1');
  const dump = new pg.Client({ connectionString: url });
  await dump.connect();
  await dump.query('BEGIN; LOCK TABLE events IN ACCESS SHARE MODE');
  const parts = { connections: 2, pooled: false, log: silentLog };
  const database = openDatabase({ url: parseDatabaseUrl(url), ...parts });
  t.after(async () => {
    await Promise.all([dump.end(), database.close()]);
    await drop();
  });
  return { url, dump, database };
}

test('a migration that finds a table locked by pg_dump leaves it to the other replicas, says so, and waits', async (t) => {
  const { url, dump, database } = await dumped(t);
  const waits = Promise.withResolvers<void>();
  let told = 0;
  const onWait = () => {
    told++;
    waits.resolve();
  };
  const bounds = { migrationLockMs: 20, migrationPauseMs: 20 };
  const migrated = migrate(database, { now: 0, onWait, bounds });
  await waits.promise;
  // As a create of an old replica does.
  for (let n = 0; n < 10; n++) {
    await administer(
      url,
      `BEGIN; SET LOCAL lock_timeout = '4s'; LOCK TABLE events IN ROW EXCLUSIVE MODE; COMMIT`,
    );
  }
  await dump.query('COMMIT');
  assert.deepEqual(await migrated, ['0002_traces.sql']);
  assert.equal(told, 1);
});
