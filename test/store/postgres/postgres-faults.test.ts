import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { pino } from 'pino';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { AppError } from '../../../src/errors.ts';
import { writes } from '../../../src/limits.ts';
import type { PlantId } from '../../../src/plants/plant.ts';
import { silentLog } from '../../../src/runtime.ts';
import { type Database, openDatabase } from '../../../src/store/postgres/engine/database.ts';
import { LOCKS } from '../../../src/store/postgres/engine/locks.ts';
import { withOwnClient } from '../../../src/store/postgres/engine/primary.ts';
import { batched, createQueues, createWriter } from '../../../src/store/postgres/engine/writer.ts';
import { creates } from '../../../src/store/postgres/plants/creates.ts';
import { deletes } from '../../../src/store/postgres/plants/plant-deletes.ts';
import type { PostgresOptions } from '../../../src/store/postgres/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { type Given, given } from '../../../testkit/stores/given.ts';
import {
  administer,
  makeStoreDatabase,
  openStoreIn,
  type TestDatabase,
} from '../../../testkit/stores/postgres.ts';
import { checkRefusedLogin } from '../../../testkit/stores/refused-login.ts';

/** Each of these once failed, on PostgreSQL only. */

const MANY = 50;
/** In `/proc/net/tcp`. */
const KEEP_ALIVE = '02';
/** By then a cancel has hit a BEGIN, which takes microseconds, some forty times. */
const CANCELLING_MS = 2_500;

describe('past failures on PostgreSQL', () => {
  let database: TestDatabase;
  let replica: Given;
  /** A session besides those of the stores. */
  let session: pg.Client;
  const opened: Store[] = [];

  before(async () => {
    database = await makeStoreDatabase();
    replica = given(await open());
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
  });
  after(async () => {
    await session.end();
    await Promise.all(opened.map((store) => store.close()));
    await database.drop();
  });

  async function open(more: Partial<PostgresOptions> = {}): Promise<Store> {
    const store = await openStoreIn(database.url, more);
    opened.push(store);
    return store;
  }

  /** Opens the store through a URL with changes. */
  async function through<T>(
    change: (url: URL) => void,
    work: (database: Database) => Promise<T>,
  ): Promise<T> {
    const url = new URL(database.url);
    change(url);
    const way = openDatabase({
      url: parseDatabaseUrl(url.href),
      connections: 8,
      pooled: false,
      log: silentLog,
    });
    return work(way).finally(way.close);
  }

  test('when the BEGIN of a batch is cancelled, no client is told that an existing plant was not created', async () => {
    const { id: owner } = await replica.user();
    const undone: string[] = [];
    const until = performance.now() + CANCELLING_MS;
    async function createAll(client: number): Promise<void> {
      for (let n = 0; performance.now() < until; n++) {
        const name = `${client}-${n}`;
        // Without an id, it takes two statements in a transaction.
        await replica.create(owner, undefined, { name }).catch((error: unknown) => {
          if (error instanceof AppError && error.code === 50302) undone.push(name);
        });
      }
    }
    async function cancelAll(): Promise<void> {
      while (performance.now() < until) {
        await session.query(
          `SELECT pg_sleep(0.0003), pg_cancel_backend(pid)
           FROM pg_stat_activity, generate_series(1, 100)
           WHERE datname = current_database() AND application_name = 'plant-store'`,
        );
      }
    }
    await Promise.all([...[1, 2, 3, 4].map(createAll), cancelAll()]);
    assert.ok(undone.length > 0, 'nothing was cancelled');
    const there = await session.query('SELECT name FROM plants WHERE owner = $1 AND name = ANY($2)', [
      owner,
      undone,
    ]);
    assert.deepEqual(there.rows, []);
  });

  test('when the server admits no more connections, reads use the open ones', async () => {
    const role = `role_${randomBytes(6).toString('hex')}`;
    await administer(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'plants' CONNECTION LIMIT 2`);
    function asRole(url: URL): void {
      url.username = role;
      url.password = 'plants';
    }
    const slow = { name: 'slow', text: 'SELECT pg_sleep(0.02)' };
    const rows = await through(asRole, ({ read }) =>
      Promise.all(Array.from({ length: 30 }, () => read(slow))),
    ).finally(() => administer(database.url, `DROP ROLE ${role}`));
    assert.equal(rows.length, 30);
  });

  test('the reasons why no host can be used follow the order of the URL, whichever was used last', async () => {
    const role = `role_${randomBytes(6).toString('hex')}`;
    await administer(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'plants'`);
    const { host, pathname } = new URL(database.url);
    const url = `postgres://${role}:plants@127.0.0.1:${await freePort()},${host}${pathname}`;
    const way = openDatabase({
      url: parseDatabaseUrl(url),
      connections: 1,
      pooled: false,
      log: silentLog,
    });
    const one = { name: 'one', text: 'SELECT 1 AS one' };
    await way.read(one);
    await administer(
      database.url,
      `ALTER ROLE ${role} NOLOGIN;
       SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`,
    );
    const codes = await eventually('reason for each host', async () => {
      const { cause } = await way.read(one).catch((error) => error);
      return cause instanceof AggregateError ? cause.errors.map(({ code }) => code) : undefined;
    });
    assert.deepEqual(codes, ['ECONNREFUSED', '28000']);
    await way.close();
    await administer(database.url, `DROP ROLE ${role}`);
  });

  test('options in the URL do not replace those that the service sets for its sessions', async () => {
    const options = '-c search_path=plants -c statement_timeout=0';
    const settings = {
      name: 'settings',
      text: `SELECT current_setting('search_path') AS path, current_setting('statement_timeout') AS timeout`,
    };
    const rows = await through(
      (url) => url.searchParams.set('options', options),
      ({ read }) => read(settings),
    );
    assert.deepEqual(rows, [{ path: 'plants', timeout: '8s' }]);
  });

  test('while another replica runs chores, retention resumes later where it was', async () => {
    const { removeExpired } = replica.store.chores;
    const from = { owner: 7, event: 'evt_7' };
    await session.query('BEGIN');
    await session.query('SELECT pg_advisory_xact_lock($1::int, $2::int)', LOCKS.chores);
    const positions = await Promise.all(
      [undefined, from].map((position) => removeExpired({ before: 'evt_', from: position, limit: 1 })),
    );
    await session.query('ROLLBACK');
    assert.deepEqual(positions, [{ owner: 0, event: '' }, from]);
  });

  test('a user with far more plants than a new limit is told so, however long it takes to count them', async () => {
    const { id: owner } = await replica.user();
    for (let n = 0; n < MANY; n++) await replica.create(owner);
    const role = `role_${randomBytes(6).toString('hex')}`;
    // All of them take longer than a statement may.
    await administer(
      database.url,
      `CREATE ROLE ${role} LOGIN PASSWORD 'plants';
       GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role};
       ALTER TABLE plants ENABLE ROW LEVEL SECURITY;
       CREATE POLICY slow ON plants USING (owner <> ${owner} OR pg_sleep(${9 / MANY}) IS NOT NULL)`,
    );
    const url = new URL(database.url);
    url.username = role;
    url.password = 'plants';
    const store = await openStoreIn(url.href, { maxPlantsPerUser: 2 });
    const outcome = await store.plants.create(replica.plant(owner)).finally(store.close);
    await administer(
      database.url,
      `DROP POLICY slow ON plants;
       ALTER TABLE plants DISABLE ROW LEVEL SECURITY;
       DROP OWNED BY ${role};
       DROP ROLE ${role}`,
    );
    assert.deepEqual(outcome, { full: 2 });
  });

  test('a user with far more plants than a new limit can create again once they deleted enough', async () => {
    const limited = given(await open({ maxPlantsPerUser: 2 }));
    const { id: owner } = await replica.user();
    const ids: PlantId[] = [];
    for (let n = 0; n < 12; n++) ids.push(await replica.create(owner));
    const create = () => limited.store.plants.create(limited.plant(owner));
    for (const id of ids.slice(0, -1)) {
      assert.deepEqual(await create(), { full: 2 });
      await replica.store.plants.delete(owner, id);
    }
    assert.deepEqual([await create(), await create()], [13n, { full: 2 }]);
  });

  test('after its password was changed, a replica continues with the connections that it has', async () => {
    const role = `role_${randomBytes(6).toString('hex')}`;
    await administer(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'plants'`);
    const { href } = Object.assign(new URL(database.url), { username: role, password: 'plants' });
    await checkRefusedLogin(href, false, () =>
      administer(database.url, `ALTER ROLE ${role} PASSWORD 'trees'`),
    );
    await administer(database.url, `DROP ROLE ${role}`);
  });

  test('a connection for a long statement is kept alive', {
    skip: process.platform !== 'linux',
  }, async () => {
    const way = { primaryUrl: async () => database.url, pooled: false };
    const timer = await withOwnClient(way, 'test', async (client) => {
      // The library's types omit the connection.
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      return timerOf(stream);
    });
    assert.equal(timer?.kind, KEEP_ALIVE);
    assert.ok(timer.ms > 0 && timer.ms <= 30_000, `the first probe is sent after ${timer.ms} ms`);
  });

  test('the server probes a session that is silent for half a minute, so that those of a lost machine end', async () => {
    const probes = { name: 'probes', text: `SELECT current_setting('tcp_keepalives_idle') AS idle` };
    const way = { primaryUrl: async () => database.url, pooled: false };
    const [row] = await through(
      () => {},
      ({ read }) => read(probes),
    );
    const { rows } = await withOwnClient(way, 'test', (client) => client.query(probes.text));
    assert.deepEqual([row, ...rows], [{ idle: '30' }, { idle: '30' }]);
  });

  test('setting the clock forward during a write fails neither it nor the next one', async () => {
    const { owner } = await replica.subscriber(0);
    const time = { offset: 0 };
    const { plants } = await open({ clock: { now: () => Date.now() + time.offset } });
    const deletions = [plants.delete(owner, 1n)];
    time.offset = 2 * writes.queueAgeMs;
    deletions.push(plants.delete(owner, 2n));
    await Promise.all(deletions);
  });

  test('a failure after a commit does not repeat the batch', async () => {
    const { owner } = await replica.subscriber(1);
    const url = parseDatabaseUrl(database.url);
    const own = openDatabase({ url, connections: 1, pooled: false, log: silentLog });
    const write = createWriter(own, () => Promise.reject(new Error('not now')));
    const queues = createQueues(write);
    const creating = creates({ deliveryDelayMs: 0 });
    const create = () => batched(creating, { plant: replica.plant(owner), caller: undefined });
    // A second run would find nothing to delete, and each event already there.
    const commands = [create(), create(), batched(deletes, { owner, id: 1n, caller: undefined })];
    const outcomes = await Promise.allSettled(commands.map((command) => queues.submit(command, 1)));
    await queues.close();
    await own.close();
    const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'done'));
    assert.deepEqual(codes, [50000, 50000, 50000]);
    assert.deepEqual(await replica.walk(owner, 10), [2n, 3n]);
  });
});

test('what the database refuses is logged without rows and values, whatever the server adds to its errors', async (t) => {
  const { url, drop } = await makeStoreDatabase();
  t.after(drop);
  await administer(
    url,
    `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET log_parameter_max_length_on_error = -1;
     CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       RAISE 'the disk is full' USING ERRCODE = 'disk_full', DETAIL = format('The row is %s.', NEW);
     END
     $$;
     CREATE TRIGGER refuse BEFORE INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION refuse()`,
  );
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(line) });
  const store = await openStoreIn(url, { log });
  t.after(() => store.close());
  await assert.rejects(given(store).subscriber(1), { code: 50302 });
  const [line = ''] = lines.filter((each) => each.includes('the disk is full'));
  assert.match(line, /"code":"53100"/);
  assert.doesNotMatch(line, /parameters|The row is|https?:/);
});

/** The timer of a socket in the kernel: its kind, and in how long it fires. */
async function timerOf({ localPort, remotePort }: Socket): Promise<{ kind: string; ms: number } | undefined> {
  // Connections to other servers may have the same local port.
  const [own = '', its = ''] = [localPort, remotePort].map(
    (port = 0) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`,
  );
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  // An earlier connection from the same port may still wait for its end.
  const isOpen = (state: string | undefined) => state === '01';
  const timer = lines
    .find(([, local, remote, state]) => local?.endsWith(own) && remote?.endsWith(its) && isOpen(state))?.[5]
    ?.split(':');
  // In hundredths of a second.
  return timer && { kind: timer[0] ?? '', ms: 10 * Number.parseInt(timer[1] ?? '', 16) };
}
