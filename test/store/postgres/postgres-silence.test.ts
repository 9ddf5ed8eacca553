import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { database as limits } from '../../../src/limits.ts';
import { silentLog } from '../../../src/runtime.ts';
import { openDatabase, statement } from '../../../src/store/postgres/engine/database.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { startDatabaseServer } from '../../../testkit/stores/postgres-server.ts';

const READ = statement`SELECT 1 AS one`;
/** Longer than what is trusted. */
const SILENCE_MS = limits.trustedMs + 500;

test('a server that cannot commit is read from, but after a silence only once it can', async (t) => {
  const server = await startDatabaseServer(t);
  const database = openDatabase({
    url: parseDatabaseUrl(server.url),
    connections: 3,
    pooled: false,
    log: silentLog,
  });
  t.after(database.close);
  /** Without it, as on a former primary whose standbys follow another server, commits wait. */
  const wantStandby = async (name: string) => {
    await server.run(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await server.run('SELECT pg_reload_conf()');
  };

  await wantStandby('gone');
  assert.deepEqual(await database.read(READ), [{ one: 1 }]);
  await pause(SILENCE_MS);
  // The write changes nothing: by itself it would wait for no standby.
  const all = [database.read(READ), database.read(READ), database.write([{ statement: READ, values: [] }])];
  // Sessions that wait stay on the server, so both reads wait for one.
  await eventually('two sessions that wait', async () => {
    const { rows } = await server.run("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    return rows.length === 2 || undefined;
  });
  assert.equal(await Promise.race([...all, 'they wait']), 'they wait');
  await wantStandby('');
  assert.deepEqual(await Promise.all(all), [[{ one: 1 }], [{ one: 1 }], [[{ one: 1 }]]]);
});
