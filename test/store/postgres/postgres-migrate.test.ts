import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { database as limits } from '../../../src/limits.ts';
import { silentLog } from '../../../src/runtime.ts';
import { openDatabase } from '../../../src/store/postgres/engine/database.ts';
import { buildIndexes } from '../../../src/store/postgres/engine/index-builds.ts';
import { LOCKS } from '../../../src/store/postgres/engine/locks.ts';
import { migrate } from '../../../src/store/postgres/engine/migrate.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { startService } from '../../../testkit/service/service.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { exchange } from '../../../testkit/sockets/raw-client.ts';
import { given } from '../../../testkit/stores/given.ts';
import {
  administer,
  makeDatabase,
  makeStoreDatabase,
  openStoreIn,
  useServer,
} from '../../../testkit/stores/postgres.ts';

const WITH_NAMES_OF_DELETED = `ALTER TABLE users DROP CONSTRAINT users_named;
  UPDATE users SET name = ' ' || id WHERE name IS NULL;
  ALTER TABLE users ALTER COLUMN name SET NOT NULL;`;

const WITHOUT_LAST_USES = 'ALTER TABLE tokens DROP COLUMN last_used_on;';
const LATER = [
  '0008_last_used.sql',
  '0009_folded_names.sql',
  '0010_folded_indexes.sql',
  '0011_event_plants.sql',
  '0012_trigger_beside_counters.sql',
  '0013_guarded_functions.sql',
  '0014_touched_users.sql',
];

/** Kept between tests. */
let server: Awaited<ReturnType<typeof useServer>>;
before(async () => {
  server = await useServer();
});
after(() => server.leave());

/** A store of the first version. */
async function firstVersion() {
  const database = await makeStoreDatabase(2);
  await administer(
    database.url,
    `DROP TABLE assigned_ids, ids_without_counter, cursor_key, lanes, replicas;
     ALTER TABLE webhooks DROP COLUMN generation;
     ALTER TABLE deliveries DROP COLUMN asked, DROP COLUMN suspicions;
     DROP INDEX deliveries_pending, deliveries_undelivered;
     CREATE INDEX deliveries_due ON deliveries (subscriber, webhook, due, event) WHERE state = 'pending';
     CREATE INDEX deliveries_by_state ON deliveries (subscriber, webhook, state, event);
     DROP FUNCTION plants_added_without_counter CASCADE;
     ALTER TABLE events DROP COLUMN trace;
     ${WITH_NAMES_OF_DELETED}
     ${WITHOUT_LAST_USES}
     DELETE FROM migrations WHERE version > 1`,
  );
  return database;
}

/** The same, with a transaction that reads it for long. */
async function dumped(t: TestContext) {
  const { url, drop } = await firstVersion();
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

test('a migration that finds a table locked by pg_dump does not block other replicas, says so, and waits', async (t) => {
  const { url, dump, database } = await dumped(t);
  const waits = Promise.withResolvers<void>();
  let told = 0;
  const onWait = () => {
    told++;
    waits.resolve();
  };
  const bounds = { ...limits, migrationLockMs: 20, longestMigrationLockMs: 20, migrationPauseMs: 20 };
  const migrated = migrate(database, { now: 0, onWait, bounds });
  await waits.promise;
  // Like a create of an old replica.
  for (let n = 0; n < 10; n++) {
    await administer(
      url,
      `BEGIN; SET LOCAL lock_timeout = '4s'; LOCK TABLE events IN ROW EXCLUSIVE MODE; COMMIT`,
    );
  }
  await dump.query('COMMIT');
  assert.deepEqual(await migrated, [
    '0002_traces.sql',
    '0003_assigned_ids.sql',
    '0004_cursor_key.sql',
    '0005_lanes.sql',
    '0006_pending_indexes.sql',
    '0007_freed_names.sql',
    ...LATER,
  ]);
  assert.equal(told, 1);
});

for (const lock of ['migration', 'indexes'] as const) {
  test(`a program that waits for another one that holds the lock ${lock} says so`, async (t) => {
    const { dump: other, database } = await dumped(t);
    const [classid, objid] = LOCKS[lock];
    await other.query(`COMMIT; BEGIN; SELECT pg_advisory_xact_lock(${classid}, ${objid})`);
    const waits = Promise.withResolvers<void>();
    const bounds = { ...buildsAll, longestMigrationLockMs: 20 };
    const migrated = migrate(database, { now: 0, onWait: waits.resolve, bounds });
    await waits.promise;
    await other.query('COMMIT');
    assert.deepEqual((await migrated).slice(-LATER.length), LATER);
  });
}

test('a migration that deadlocks with a replica of the previous version is repeated', async (t) => {
  const { dump: replica, database } = await dumped(t);
  await replica.query('COMMIT');
  // The server ends the one that waited first for as long as this.
  await replica.query(`SET deadlock_timeout = '1min'; BEGIN; LOCK TABLE deliveries IN ROW EXCLUSIVE MODE`);
  const bounds = { ...limits, migrationLockMs: 60_000, migrationPauseMs: 20 };
  const migrated = migrate(database, { now: 0, onWait() {}, bounds });
  // Until another session waits for a lock on the table.
  await untilFound(replica, `SELECT 1 FROM pg_locks WHERE relation = 'deliveries'::regclass AND NOT granted`);
  await replica.query('LOCK TABLE webhooks IN ROW EXCLUSIVE MODE; COMMIT');
  assert.ok((await migrated).includes('0005_lanes.sql'));
});

/** Waits until the query finds a row. */
async function untilFound(client: pg.Client, query: string): Promise<void> {
  while ((await client.query(query)).rowCount === 0) await pause(5);
}

test('counters begin above every id that a plant has or had, except those above 2^52', async (t) => {
  const { url, drop } = await firstVersion();
  t.after(drop);
  await administer(
    url,
    `INSERT INTO users (id, name, created_at) SELECT n, 'user-' || n, 0 FROM generate_series(1, 5) n`,
  );
  await administer(
    url,
    `INSERT INTO plants (owner, id, name, created_at)
     VALUES (1, 7, 'Fir', 0), (2, -3, 'Fir', 0), (3, 4503599627370496, 'Fir', 0), (4, 4503599627370497, 'Fir', 0)`,
  );
  await administer(
    url,
    `INSERT INTO events (owner, id, tx, type, plant, name, created_at)
     VALUES (1, 'evt_1', 1, 'plant.created', 9, 'Fir', 0), (4, 'evt_2', 1, 'plant.created', 9007199254740993, 'Fir', 0),
       (5, 'evt_3', 1, 'plant.test', 12, 'Fir', 0)`,
  );
  const store = await openStoreIn(url);
  t.after(() => store.close());
  const { create } = given(store);
  const ids = await Promise.all([1, 2, 3, 4, 5].map((owner) => create(owner)));
  assert.deepEqual(ids, [10n, 1n, 4503599627370497n, 1n, 1n]);
});

test('an id that a replica of the previous version assigned, and a client deleted, is not assigned again', async (t) => {
  const { url, drop } = await makeStoreDatabase();
  t.after(drop);
  const store = await openStoreIn(url);
  t.after(() => store.close());
  const { create, user } = given(store);
  /** Acts like such a replica, with ids of its choice. */
  async function passingBy(owner: number, ids: readonly number[]) {
    const rows = ids.map((id) => `(${owner}, ${id}, 'Fir', 0)`).join();
    await administer(url, `INSERT INTO plants (owner, id, name, created_at) VALUES ${rows}`);
    await administer(url, `DELETE FROM plants WHERE owner = ${owner} AND id IN (${ids.join()})`);
  }

  const [known, unknown] = [await user(), await user()];
  assert.equal(await create(known.id), 1n);
  for (const { id } of [known, unknown]) {
    await passingBy(id, [2, 3, 4]);
    assert.equal(await create(id), 5n);
    // A client's choice here moves nothing.
    await create(id, 1000n);
    await passingBy(id, [6]);
    assert.equal(await create(id), 7n);
    assert.equal(await create(id), 8n);
  }
});

test('a replica of the previous version does not wait for a counter that another one advances', async (t) => {
  const { url, drop } = await makeStoreDatabase();
  const store = await openStoreIn(url);
  const other = new pg.Client({ connectionString: url });
  t.after(async () => {
    await Promise.all([other.end(), store.close()]);
    await drop();
  });
  const { create, user } = given(store);
  const { id: owner } = await user();
  await create(owner);
  await other.connect();
  await other.query(`BEGIN; UPDATE assigned_ids SET last = last + 1 WHERE owner = ${owner}`);
  const add = `INSERT INTO plants (owner, id, name, created_at) VALUES (${owner}, 2, 'Fir', 0)`;
  await administer(url, `SET lock_timeout = '1s'; ${add}`);
});

test('migrating a store with users generates a secret for its cursors', async (t) => {
  const { url, dump, database } = await dumped(t);
  await dump.query('COMMIT');
  await administer(url, `INSERT INTO users (name, created_at) VALUES ('ann', 0)`);
  await migrate(database, { now: 0, onWait: assert.fail });
  const [row] = await database.read({ name: 'keys', text: 'SELECT secret FROM cursor_key' });
  assert.match(String(row?.secret), /^[0-9a-f]{64}$/);
});

test('a replica of the previous version adds plants after the migration with its old rights', async (t) => {
  const { url, drop } = await makeStoreDatabase();
  t.after(drop);
  const store = await openStoreIn(url);
  t.after(() => store.close());
  const { create, user } = given(store);
  const { id: owner } = await user();
  const role = `role_${randomBytes(6).toString('hex')}`;
  await administer(url, `CREATE ROLE ${role} LOGIN PASSWORD 'plants'; GRANT INSERT ON plants TO ${role}`);
  const its = new URL(url);
  its.username = role;
  its.password = 'plants';
  await administer(
    its.href,
    `INSERT INTO plants (owner, id, name, created_at) VALUES (${owner}, 1, 'Fir', 0)`,
  );
  await administer(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  assert.equal(await create(owner), 2n);
});

/** A store of the version without indexes of waiting deliveries, with deliveries of several users. */
async function withoutPendingIndexes(t: TestContext, partitions?: number) {
  const { url, drop } = await makeStoreDatabase(partitions);
  await administer(
    url,
    `DROP INDEX deliveries_asked, deliveries_pending, deliveries_undelivered;
     CREATE INDEX deliveries_due ON deliveries (subscriber, webhook, due, event) WHERE state = 'pending';
     CREATE INDEX deliveries_by_state ON deliveries (subscriber, webhook, state, event);
     ${WITH_NAMES_OF_DELETED}
     ${WITHOUT_LAST_USES}
     DELETE FROM migrations WHERE version > 5;
     ${ADD_DELIVERIES}`,
  );
  const parts = { connections: 2, pooled: false, log: silentLog };
  const database = openDatabase({ url: parseDatabaseUrl(url), ...parts });
  const clients: pg.Client[] = [];
  t.after(async () => {
    await Promise.all([database.close(), ...clients.map((client) => client.end())]);
    await drop();
  });
  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    clients.push(client);
    return client;
  }
  return { url, database, connect };
}

const ADD_DELIVERIES = `INSERT INTO deliveries (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence)
  SELECT n, 'wh_1', 'evt_' || random(), n, 'pending', 0, 0, 0, false, 0 FROM generate_series(1, 20) n`;

/** Treats every table as large. */
const buildsAll = {
  ...limits,
  migrationLockMs: 20,
  migrationPauseMs: 20,
  migrationTellMs: 20,
  briefIndexBytes: 0,
};

/** The valid indexes of the table, or of all its partitions, with their definitions. */
async function validIndexes(url: string): Promise<string[]> {
  const { rows } = await administer(
    url,
    `SELECT t.relname || ': ' || substring(pg_get_indexdef(i.indexrelid) FROM '\\(.*') AS text
     FROM pg_index i
     JOIN pg_class t ON t.oid = i.indrelid
     JOIN pg_class c ON c.oid = i.indexrelid
     WHERE t.relkind = 'r' AND t.relname LIKE 'deliveries%' AND i.indisvalid AND NOT i.indisprimary
       AND (NOT t.relispartition OR c.relispartition)
     ORDER BY 1`,
  );
  return rows.map(({ text }) => text);
}

for (const partitions of [undefined, 2]) {
  const kind = partitions === undefined ? 'a large table' : 'large partitions';
  test(`while a migration indexes ${kind}, others write`, async (t) => {
    const { url, database, connect } = await withoutPendingIndexes(t, partitions);
    const fresh = await makeStoreDatabase(partitions);
    t.after(fresh.drop);
    const writer = await connect();
    await writer.query('BEGIN');
    await writer.query(ADD_DELIVERIES);
    const waits = Promise.withResolvers<void>();
    const migrated = migrate(database, { now: 0, onWait: waits.resolve, bounds: buildsAll });
    await waits.promise;
    const { rows } = await administer(
      url,
      'SELECT count(*)::int AS builds FROM pg_stat_progress_create_index',
    );
    assert.deepEqual(rows, [{ builds: 1 }]);
    for (let n = 0; n < 10; n++) await administer(url, `SET lock_timeout = '1s'; ${ADD_DELIVERIES}`);
    await writer.query('COMMIT');
    assert.deepEqual(await migrated, ['0006_pending_indexes.sql', '0007_freed_names.sql', ...LATER]);
    assert.deepEqual(await validIndexes(url), await validIndexes(fresh.url));
  });
}

test('a build that waits only after it has read the table says so', async (t) => {
  const { url, database, connect } = await withoutPendingIndexes(t);
  const [builder, writer] = [await connect(), await connect()];
  await administer(
    url,
    `CREATE FUNCTION held(event text) RETURNS text IMMUTABLE LANGUAGE sql
     RETURN CASE WHEN pg_advisory_xact_lock_shared(1) IS NULL THEN event ELSE event END`,
  );
  await writer.query('SELECT pg_advisory_lock(1)');
  const waits = Promise.withResolvers<void>();
  const bounds = { ...buildsAll, migrationTellMs: 5 };
  const sql = 'CREATE INDEX IF NOT EXISTS deliveries_held /* beside writes */ ON deliveries (held(event));';
  const options = { isMissing: async () => true, onWait: waits.resolve, bounds };
  const built = buildIndexes(database, builder, sql, options);
  await untilFound(
    writer,
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%create_index%' AND state LIKE 'idle%'`,
  );
  await writer.query('BEGIN');
  await writer.query(ADD_DELIVERIES);
  await writer.query('SELECT pg_advisory_unlock(1)');
  await waits.promise;
  await writer.query('COMMIT');
  await built;
  assert.ok((await validIndexes(url)).some((text) => text.includes('held(event)')));
});

test('a build does not wait for what looks whether it waits', async (t) => {
  const { database, connect } = await withoutPendingIndexes(t);
  const builder = await connect();
  const bounds = { ...buildsAll, migrationTellMs: 1 };
  const options = { isMissing: async () => true, onWait() {}, bounds };
  // Each may meet a look in the moment that counts.
  for (let n = 0; n < 12; n++) {
    const sql = `CREATE INDEX IF NOT EXISTS deliveries_${n} /* beside writes */ ON deliveries (due);`;
    await buildIndexes(database, builder, sql, options);
  }
});

test('an index whose build was interrupted is rebuilt', async (t) => {
  const { url, database, connect } = await withoutPendingIndexes(t);
  const [writer, builder] = [await connect(), await connect()];
  await writer.query('BEGIN');
  await writer.query(ADD_DELIVERIES);
  await builder.query(`SET lock_timeout = '10ms'`);
  await assert.rejects(
    builder.query('CREATE INDEX CONCURRENTLY deliveries_pending ON deliveries (subscriber)'),
  );
  await writer.query('COMMIT');
  await migrate(database, { now: 0, onWait() {}, bounds: { ...buildsAll, briefIndexBytes: 1e9 } });
  const found = (await validIndexes(url)).filter((text) =>
    text.includes('(subscriber, webhook, due, "left"(event, 13))'),
  );
  assert.equal(found.length, 2);
});

test('programs that migrate at the same time build an index once', async (t) => {
  const { database } = await withoutPendingIndexes(t, 2);
  const options = { now: 0, onWait() {}, bounds: { ...buildsAll, migrationTellMs: 60_000 } };
  const applied = await Promise.all([1, 2, 3].map(() => migrate(database, options)));
  assert.deepEqual(applied.flat().sort(), ['0006_pending_indexes.sql', '0007_freed_names.sql', ...LATER]);
});

test('users deleted by an earlier version lose their placeholder names, even while its replicas run', async (t) => {
  const { url, drop } = await makeStoreDatabase();
  t.after(drop);
  const before = await openStoreIn(url);
  const { user } = given(before);
  const [early, late] = [await user(), await user()];
  await before.access.deleteUser(early.name, 0);
  await before.close();
  await administer(
    url,
    `${WITH_NAMES_OF_DELETED} ${WITHOUT_LAST_USES} DELETE FROM migrations WHERE version > 6`,
  );

  const store = await openStoreIn(url);
  t.after(() => store.close());
  const { rows } = await administer(url, 'SELECT id::int, name FROM users WHERE deleted_at IS NOT NULL');
  assert.deepEqual(rows, [{ id: early.id, name: null }]);
  await administer(
    url,
    `UPDATE users SET deleted_at = 0, deleted_tx = pg_current_xact_id(), name = ' ' || id WHERE id = ${late.id}`,
  );
  for (const { id, name } of [early, late]) {
    const again = await store.access.createUser({ name, at: 0 });
    assert.notEqual(again?.id ?? id, id);
  }
  await given(store).finishChores();
  const left = await administer(url, 'SELECT name FROM users ORDER BY id');
  assert.deepEqual(left.rows, [{ name: early.name }, { name: late.name }]);
});

test('plants of the previous version and of its remaining replicas are found by name after chores have folded them', async (t) => {
  const { url, drop } = await makeStoreDatabase();
  t.after(drop);
  const before = await openStoreIn(url);
  const { id: owner } = await given(before).user();
  await before.close();
  await administer(
    url,
    `ALTER TABLE plants DROP COLUMN folded;
     DROP FUNCTION fold_plants;
     DROP INDEX events_by_plant;
     DELETE FROM migrations WHERE version > 8`,
  );
  const insert = (id: number) =>
    administer(url, `INSERT INTO plants (owner, id, name, created_at) VALUES (${owner}, ${id}, 'ALDER', 0)`);
  await insert(2);

  const store = await openStoreIn(url);
  t.after(() => store.close());
  const { finishChores, create, read } = given(store);
  await create(owner, 1n);
  const order = { prefix: 'al' };
  for (const last of [2, 3, 4]) {
    await finishChores();
    assert.equal(await store.plants.hasNames(owner), true);
    const ids = Array.from({ length: last }, (_, n) => BigInt(n + 1));
    assert.deepEqual((await read(owner, { order })).ids, ids);
    await insert(last + 1);
    assert.equal(await store.plants.hasNames(owner), false);
  }
});

test('a service whose start waits for the schema says that it lives, and refuses the rest until it is ready', async (t) => {
  const database = await makeDatabase();
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  t.after(() => other.end());
  t.after(database.drop);
  await other.query(`SELECT pg_advisory_lock(${LOCKS.migration})`);
  const port = await freePort();
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);

  const starting = startService({ PORT: String(port), DATABASE_URL: database.url });
  const alive = await eventually('answer', () => get('/healthz'));
  assert.equal(alive.status, 200);
  assert.deepEqual(await alive.json(), { status: 'alive' });
  const unready = await get('/readyz');
  assert.equal(unready?.status, 503);
  assert.equal(unready.headers.get('retry-after'), '1');
  assert.match(await unready.text(), /"error":50302.*starting/);
  const body = 'x'.repeat(65_536);
  const create = `POST /plants HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  assert.equal((await exchange(port, create)).status, 503);
  assert.equal((await exchange(port, 'not HTTP\r\n\r\n')).status, 400);

  await other.end();
  const service = await starting;
  assert.equal((await get('/readyz'))?.status, 200);
  await service.stop();
});
