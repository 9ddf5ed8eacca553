import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { storePath } from '../../../src/config/config.ts';
import { database } from '../../../src/limits.ts';
import {
  launch,
  outcomeOf,
  run,
  untilSaid,
  withFolder,
  withStoreFolder,
} from '../../../testkit/processes/program.ts';
import { failureOf } from '../../../testkit/processes/remote.ts';
import { serve } from '../../../testkit/processes/server.ts';
import { AT, given, outcomeOf as outcomeOfDelivery } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import { administer, makeDatabase, makeStoreDatabase } from '../../../testkit/stores/postgres.ts';
import { noTerminal, onTerminal } from '../on-terminal.ts';
import { fillStore, openDatabaseStore, openEmbedded, viewOf } from './copied-store.ts';

const { copyRows } = database;

/** The URL of an empty database that ends with the test. */
async function emptyDatabase(t: TestContext): Promise<string> {
  const database = await makeDatabase();
  t.after(() => database.drop());
  return database.url;
}

/** The URL of a database with an empty store. */
async function migratedDatabase(t: TestContext): Promise<string> {
  const database = await makeStoreDatabase();
  t.after(() => database.drop());
  return database.url;
}

/** What keeps a copy into the database waiting at a certain moment. */
type Hold = {
  /** Ends the copy's connections, and what it did not commit. */
  cut(): Promise<void>;
  /** Lets the copy continue. */
  release(): Promise<void>;
};

/**
 * A database with an empty store, where a copy waits at the locks of this statement: killing or looking at it then needs
 * neither luck nor many rows.
 */
async function heldDatabase(t: TestContext, sql: string): Promise<{ url: string; held: Hold }> {
  const url = await migratedDatabase(t);
  return { url, held: await hold(t, url, sql) };
}

async function hold(t: TestContext, url: string, sql: string): Promise<Hold> {
  const client = new pg.Client({ connectionString: url });
  // The end of the test drops the database.
  client.on('error', () => {});
  t.after(() => client.end());
  await client.connect();
  // Without foreign keys: what is held refers to rows to be copied.
  await client.query(`SET session_replication_role = replica; BEGIN; ${sql}`);
  return {
    async cut() {
      await client.query(
        `SELECT pg_terminate_backend(pid, 60000)
         FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
    },
    async release() {
      await client.query('ROLLBACK');
      await client.end();
    },
  };
}

/** A copy needs two transactions for these plants, and two for their events. */
const PLANTS = copyRows + 1_000;
/** The first row of the second transaction. */
const SECOND = copyRows + 1;
/** A copy says that it copies a table once the first rows are committed, and waits before the next ones. */
const HOLD_PLANTS = `INSERT INTO plants (owner, id, name, created_at) VALUES (1, ${SECOND}, 'held', 0)`;
const HOLD_EVENTS = `INSERT INTO events (owner, id, tx, type, plant, name, created_at)
  VALUES (1, '${eventOf(SECOND)}', 0, 'plant.created', ${SECOND}, 'held', 0)`;
/** A copy waits before it reads the plants back. */
const HOLD_COMPARISON = 'LOCK TABLE plants IN SHARE UPDATE EXCLUSIVE MODE';

function copyFrom(folder: string, url: string, ...more: string[]) {
  return run(['copy', '--from', `sqlite:${folder}`, ...more], { DATABASE_URL: url });
}

/** Rows by table, from the output of `copy --json`. */
function rowsIn(json: string): Map<string, number> {
  const tables: { table: string; rows: number }[] = JSON.parse(json);
  return new Map(tables.map(({ table, rows }) => [table, rows]));
}

test('a copied store has the same content and continues from there', async (t) => {
  const url = await emptyDatabase(t);
  await withFolder(async (folder) => {
    const before = await openEmbedded(folder);
    const filled = await fillStore(before);
    const removed = await given(before).create(filled.users[0] ?? 0);
    await before.plants.delete(filled.users[0] ?? 0, removed);
    const view = await viewOf(before, filled);
    const [ann = 0] = filled.users;
    const position = await before.events.latestPosition(ann);
    await before.close();

    const { code, stdout, stderr } = await copyFrom(folder, url, '--json');
    assert.equal(code, 0, stderr);
    const rows = rowsIn(stdout);
    assert.deepEqual(
      [...rows].filter(([, count]) => count === 0),
      [],
      'every table has rows in this test',
    );

    const after = await openDatabaseStore(url);
    t.after(() => after.close());
    assert.deepEqual(await viewOf(after, filled), view);

    // Followers of the feed continue after the last event, and no used id is assigned again.
    const { create, user, finishChores } = given(after);
    assert.equal(await create(ann, undefined, { name: 'new' }), removed + 1n);
    const feed = await after.events.events({ viewer: ann, after: position, limit: 9 });
    assert.deepEqual(
      feed?.events.map(({ plant }) => plant.name),
      ['new'],
    );
    assert.ok((await user()).id > Math.max(...filled.users) + 2);
    await finishChores();
    const { rows: left } = await administer(url, 'SELECT name FROM users WHERE deleted_at IS NOT NULL');
    assert.deepEqual(left, []);
  });
});

test('waiting deliveries of a copied store are sent with its secrets', async (t) => {
  const url = await emptyDatabase(t);
  await withFolder(async (folder) => {
    const before = await openEmbedded(folder);
    const lanes = await lanesOf(before);
    const { due, record, create, subscriber } = given(before, { lanes: lanes.store });
    const { owner, hook } = await subscriber(1);
    const trace = `00-${'1'.repeat(32)}-${'a'.repeat(16)}-01 a=1`;
    await create(owner, undefined, { trace });
    const [first] = await due(hook);
    assert.ok(first);
    await record(
      outcomeOfDelivery(first, { reason: 'no', next: { state: 'pending', due: AT + 9, step: 1 } }),
    );
    await lanes.close();
    await before.close();
    const db = new DatabaseSync(storePath(folder));
    db.exec('UPDATE deliveries SET asked = 1, suspicions = 2 WHERE attempts = 0');
    db.close();
    assert.equal((await copyFrom(folder, url)).code, 0);
    const { rows } = await administer(url, 'SELECT asked, suspicions FROM deliveries ORDER BY attempts');
    assert.deepEqual(rows, [
      { asked: true, suspicions: 2 },
      { asked: false, suspicions: 0 },
    ]);

    const after = await openDatabaseStore(url);
    const copied = await lanesOf(after);
    t.after(() => copied.close().then(after.close));
    const waiting = await given(after, { lanes: copied.store }).due(hook, { now: Date.now() });
    assert.deepEqual(
      waiting.map((one) => [one.generation, one.trace, one.webhook.secrets, one.webhook.privateKey]).sort(),
      [
        [0, trace, ['whsec_x'], 'whsk_x'],
        [1, undefined, ['whsec_x'], 'whsk_x'],
      ],
    );
  });
});

test('a killed copy resumes, and no service starts in between', async (t) => {
  const url = await migratedDatabase(t);
  await withStoreFolder(async (folder) => {
    addPlants(folder, PLANTS);
    for (const [moment, sql] of [
      ['Copying plants', HOLD_PLANTS],
      ['Copying events', HOLD_EVENTS],
      ['Comparing plants', HOLD_COMPARISON],
    ] as const) {
      const held = await hold(t, url, sql);
      const child = launch(['copy', '--from', `sqlite:${folder}`], { DATABASE_URL: url });
      const ended = outcomeOf(child);
      await untilSaid(child.stderr, moment, ended);
      child.kill('SIGKILL');
      assert.equal((await ended).signal, 'SIGKILL');
      await held.cut();
      await held.release();

      if (moment === 'Copying plants') {
        const { rows } = await administer(url, `SELECT copied FROM copy_progress WHERE name = 'plants'`);
        assert.ok(rows[0].copied > 0 && rows[0].copied < PLANTS, `${rows[0].copied} were copied`);
        await assert.rejects(serve(folder, { DATABASE_URL: url }), /plant-store copy again to resume/);
      }
    }
    const { code, stdout, stderr } = await copyFrom(folder, url, '--json');
    assert.equal(code, 0, stderr);
    assert.equal(rowsIn(stdout).get('plants'), PLANTS);
    const { rows } = await administer(url, 'SELECT count(*)::int AS plants FROM plants');
    assert.equal(rows[0].plants, PLANTS);

    const service = await serve(folder, { DATABASE_URL: url });
    assert.equal((await service.stop()).code, 0);
  });
});

test('a copy whose connection breaks says why and how to resume, and once it is done, that it is', async (t) => {
  const { url, held } = await heldDatabase(t, HOLD_PLANTS);
  await withStoreFolder(async (folder) => {
    addPlants(folder, PLANTS);
    const child = launch(['copy', '--from', `sqlite:${folder}`], { DATABASE_URL: url });
    const ended = outcomeOf(child);
    await untilSaid(child.stderr, 'Copying plants', ended);
    await held.cut();
    await held.release();
    const { code, stdout, stderr } = await ended;
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /\nerror: The copy was interrupted: .+\. Run the same command to resume it\.\n$/);
    assert.equal((await copyFrom(folder, url)).code, 0);
    assert.match(
      failureOf(await copyFrom(folder, url)),
      /^error: The copy of this store into the database is done/,
    );
  });
});

test('a store changed between two runs of a copy is detected', async (t) => {
  const { url, held } = await heldDatabase(t, HOLD_EVENTS);
  await withStoreFolder(async (folder) => {
    addPlants(folder, PLANTS);
    const child = launch(['copy', '--from', `sqlite:${folder}`], { DATABASE_URL: url });
    const ended = outcomeOf(child);
    await untilSaid(child.stderr, 'Copying events', ended);
    child.kill('SIGKILL');
    await ended;
    await held.cut();
    await held.release();
    change(folder, `UPDATE plants SET name = 'Oak' WHERE id = 7`);

    const { code, stdout, stderr } = await copyFrom(folder, url);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      new RegExp(`error: The copy of plants differs: ${PLANTS} rows with checksum .*Recreate the database`),
    );
    await assert.rejects(serve(folder, { DATABASE_URL: url }), /A copy into this database/);
    change(folder, `INSERT INTO plants (owner, id, name, created_at) VALUES (1, -1, 'Ash', 0)`);
    const { stderr: said } = await copyFrom(folder, url);
    assert.match(said, /error: The database has other rows of plants: .* the store changed/);
  });
});

test('a copy of another store does not resume an interrupted one', async (t) => {
  const { url, held } = await heldDatabase(t, HOLD_PLANTS);
  await withStoreFolder(async (folder) => {
    addPlants(folder, PLANTS);
    const child = launch(['copy', '--from', `sqlite:${folder}`], { DATABASE_URL: url });
    const ended = outcomeOf(child);
    await untilSaid(child.stderr, 'Copying plants', ended);
    child.kill('SIGKILL');
    await ended;
    await held.cut();
    await held.release();
    await withStoreFolder(async (other) => {
      assert.match(failureOf(await copyFrom(other, url)), /an unfinished copy of another store/);
    });
  });
});

test('a database with users is refused as the target', async (t) => {
  const url = await migratedDatabase(t);
  await withStoreFolder(async (folder) => {
    assert.equal((await run(['user', 'create', 'ann'], { DATABASE_URL: url })).code, 0);
    assert.match(failureOf(await copyFrom(folder, url)), /The database already has a store with users/);
    assert.match((await run(['user', 'list'], { DATABASE_URL: url })).stdout, /^ann /m);
  });
});

test('a store with a running server is not copied', async (t) => {
  const url = await emptyDatabase(t);
  await withFolder(async (folder) => {
    const service = await serve(folder);
    assert.match(
      failureOf(await copyFrom(folder, url)),
      /A server, or another copy or restore, is running on the store .*\. Stop the server, or wait\.$/,
    );
    assert.equal((await service.stop()).code, 0);
    assert.equal((await copyFrom(folder, url)).code, 0);
  });
});

test('no verb changes a store while it is copied', async (t) => {
  const { url, held } = await heldDatabase(t, HOLD_PLANTS);
  await withStoreFolder(async (folder) => {
    addPlants(folder, PLANTS);
    const child = launch(['copy', '--from', `sqlite:${folder}`], { DATABASE_URL: url });
    const ended = outcomeOf(child);
    await untilSaid(child.stderr, 'Copying plants', ended);
    const writer = new DatabaseSync(storePath(folder));
    assert.throws(() => writer.exec('BEGIN IMMEDIATE'), /locked/);
    writer.close();
    await held.release();
    assert.equal((await ended).code, 0);
  });
});

test('--to names the database, and PGPASSWORD has its password', async (t) => {
  const url = new URL(await emptyDatabase(t));
  const { password } = url;
  url.password = '';
  await withStoreFolder(async (folder) => {
    const file = `sqlite:${storePath(folder)}`;
    const args = ['copy', '--from', file, '--to', url.href];
    const { code, stdout, stderr } = await run(args, { PGPASSWORD: password, DATABASE_URL: 'nonsense' });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^TABLE {12}ROWS {2}CHECKSUM\nusers {12}0 {5}0{16} ok\n/);
  });
});

test('on a terminal a bar shows the progress of the copy', async (t) => {
  const reason = noTerminal();
  if (reason !== undefined) return t.skip(reason);
  const url = await emptyDatabase(t);
  await withStoreFolder(async (folder) => {
    addPlants(folder, PLANTS);
    const typing = { env: { DATABASE_URL: url }, at: 'nothing is asked', keys: '' };
    const shown = await onTerminal(['copy', '--from', `sqlite:${folder}`], typing);
    assert.match(shown, /Copying plants +\[#*-+\] +\d+ % \d+s/);
    assert.match(shown, /Comparing events +\[#+-*\] +\d+ % \d+s/);
    assert.match(shown, new RegExp(`\nplants +${PLANTS} +[\\da-f]{16} ok\r\n`));
  });
});

for (const { name, args, env, code, says } of [
  { name: 'no source', args: [], env: {}, code: 2, says: /required option '--from <store>' not specified/ },
  { name: 'another source', args: ['--from', './data'], env: {}, code: 2, says: /It must be sqlite:/ },
  { name: 'no target', args: ['--from', 'sqlite:x'], env: {}, code: 2, says: /DATABASE_URL: Not set/ },
  {
    name: 'another target',
    args: ['--from', 'sqlite:x', '--to', 'mysql://a/b'],
    env: {},
    code: 2,
    says: /The database URL must have the form postgres:/,
  },
  {
    name: 'a missing source',
    args: ['--from', 'sqlite:/nowhere'],
    env: { DATABASE_URL: 'postgres://localhost/plants' },
    code: 1,
    says: /^error: There is no store at \/nowhere\/plant-store\.db\.\n$/,
  },
]) {
  test(`a copy with ${name} exits with ${code} and says so`, async () => {
    const outcome = await run(['copy', ...args], env);
    assert.deepEqual([outcome.code, outcome.stdout], [code, '']);
    assert.match(outcome.stderr, says);
  });
}

/** The id of a plant's event. */
function eventOf(plant: number): string {
  return `evt_${String(plant).padStart(26, '0')}`;
}

function change(folder: string, sql: string): void {
  const db = new DatabaseSync(storePath(folder));
  db.exec(sql);
  db.close();
}

/** Adds a user with this many plants and their events. */
function addPlants(folder: string, count: number): void {
  const sql = `
    BEGIN;
    INSERT INTO users (id, name, created_at) VALUES (1, 'ann', 0);
    INSERT INTO plants (owner, id, name, tag, created_at)
      WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ${count})
      SELECT 1, id, 'Alder', NULL, 0 FROM ids;
    INSERT INTO events (owner, id, type, plant, name, tag, created_at)
      SELECT owner, printf('evt_%026d', id), 'plant.created', id, name, tag, created_at FROM plants;
    COMMIT`;
  change(folder, sql);
}

test('an invalid target URL is refused without being repeated', async () => {
  const args = ['copy', '--from', 'sqlite:.', '--to', 'http://ann:canary@db/plants'];
  const { code, stdout, stderr } = await run(args, {});
  assert.equal(code, 2);
  assert.match(stderr, /^error: --to: The database URL must have the form/);
  assert.ok(!(stdout + stderr).includes('canary'));
});
