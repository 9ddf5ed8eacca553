import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { database as limits } from '../../../src/limits.ts';
import { silentLog } from '../../../src/runtime.ts';
import { openDatabase } from '../../../src/store/postgres/engine/database.ts';
import { statement } from '../../../src/store/postgres/engine/statement.ts';
import { startPostgres } from '../../../testkit/stores/postgres.ts';

const READ = statement`SELECT 1 AS one`;
/** Longer than what is trusted. */
const SILENCE_MS = limits.trustedMs + 500;

test('a server that cannot commit is read from, but after a silence only once it can', async (t) => {
  const server = await startPostgres();
  const database = openDatabase({
    url: parseDatabaseUrl(server.url),
    connections: 2,
    pooled: false,
    log: silentLog,
  });
  const administrator = new pg.Client({ connectionString: server.url });
  await administrator.connect();
  t.after(async () => {
    await administrator.end();
    await database.close();
    await server.stop();
  });
  /** Without it, as on a former primary whose standbys follow another server, commits wait. */
  const wantStandby = async (name: string) => {
    await administrator.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await administrator.query('SELECT pg_reload_conf(), pg_sleep(0.2)');
  };

  await wantStandby('gone');
  assert.deepEqual(await database.read(READ), [{ one: 1 }]);
  await pause(SILENCE_MS);
  const read = database.read(READ);
  assert.equal(await Promise.race([read, pause(500, 'it waits')]), 'it waits');
  await wantStandby('');
  assert.deepEqual(await read, [{ one: 1 }]);
});
