import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { silentLog } from '../../../src/runtime.ts';
import { openPostgresStore } from '../../../src/store/postgres/store.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import { administer, changeUnchecked, fencesOf, makeDatabase } from '../../../testkit/stores/postgres.ts';
import { startDatabaseServer } from '../../../testkit/stores/postgres-server.ts';
import { checkRefusedLogin } from '../../../testkit/stores/refused-login.ts';
import { storeConformance } from '../conformance/conformance.ts';

/** The store behind a real PgBouncer with the configuration for operators (ops/pgbouncer.ini). */

const given = readFileSync(new URL('../../../ops/pgbouncer.ini', import.meta.url), 'utf8');
/** Fewer than the store has: transactions of one connection go to several of the server's. */
const POOL_SIZE = 2;
const CONNECTIONS = 6;

if (spawnSync('pgbouncer', ['--version']).error) {
  test('the store works behind PgBouncer', { skip: 'pgbouncer is not installed' });
} else {
  storeConformance({
    name: 'PostgreSQL (behind PgBouncer)',
    async open() {
      const database = await makeDatabase();
      const bouncer = await startPgBouncer(database.url);
      const store = await openPostgresStore({
        url: parseDatabaseUrl(bouncer.url),
        connections: CONNECTIONS,
        pooled: true,
        clock: { now: Date.now },
        log: silentLog,
        deliveryDelayMs: 0,
      });
      const lanes = await lanesOf(store);
      return {
        store,
        lanes: lanes.store,
        fenceOf: fencesOf(lanes),
        change: (sql) => changeUnchecked(database.url, sql),
        async drop() {
          await lanes.close();
          await store.close();
          await bouncer.stop();
          await database.drop();
        },
      };
    },
  });

  test('a replica continues with its connections when PgBouncer accepts no more clients', async (t) => {
    const database = await makeDatabase();
    t.after(database.drop);
    const bouncer = await startPgBouncer(database.url, 1);
    t.after(bouncer.stop);
    await checkRefusedLogin(bouncer.url, true, async () => {});
  });

  test('with this configuration PgBouncer uses no standby, and uses it once it is promoted', async (t) => {
    const server = await startDatabaseServer(t);
    await server.stop();
    await server.write('standby.signal', '');
    await server.start();
    const bouncer = await startPgBouncer(server.url);
    t.after(bouncer.stop);
    await assert.rejects(administer(bouncer.url, 'SELECT 1'));
    await server.run('SELECT pg_promote()');
    await eventually('connection', () => administer(bouncer.url, 'SELECT 1').catch(() => undefined));
  });
}

async function startPgBouncer(databaseUrl: string, clients = 1_000) {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const name = pathname.slice(1);
  const ownPort = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-pgbouncer-'));
  const users = join(folder, 'userlist.txt');
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  const configuration = given
    .replace(
      /^plant_store = host=\S+ port=\S+ dbname=\S+/m,
      `${name} = host=${hostname} port=${port} dbname=${name}`,
    )
    .replace(/^listen_port = .*$/m, `listen_port = ${ownPort}`)
    .replace(/^auth_file = .*$/m, `auth_file = ${users}`)
    .replace(/^max_client_conn = .*$/m, `max_client_conn = ${clients}`)
    .replace(/^default_pool_size = .*$/m, `default_pool_size = ${POOL_SIZE}`);
  writeFileSync(file, `${configuration}unix_socket_dir =\n`);
  // PgBouncer refuses to run as root; its user must be able to read these.
  for (const [path, mode] of [[folder, 0o755] as const, [users, 0o644] as const, [file, 0o644] as const]) {
    chmodSync(path, mode);
  }
  const asNobody = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
  const running = spawn('pgbouncer', [...asNobody, file], { stdio: ['ignore', 'ignore', 'pipe'] });
  await accepting(running);
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${ownPort}/${name}`,
    async stop(): Promise<void> {
      const ended = once(running, 'exit');
      running.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** Reads its log: a connection to find out would be one of its clients for a while longer. */
async function accepting(running: ChildProcessByStdio<null, null, Readable>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let log = '';
  running.stderr.setEncoding('utf8').on('data', (part) => {
    log += part;
    if (log.includes('process up')) resolve();
  });
  running.once('exit', () => reject(new Error(`PgBouncer ended: ${log}`)));
  await promise;
}
