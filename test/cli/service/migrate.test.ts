import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { LOCKS } from '../../../src/store/postgres/engine/locks.ts';
import { launch, outcomeOf, run, untilSaid } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, wordsOf } from '../../../testkit/processes/remote.ts';
import { administer, makeDatabase } from '../../../testkit/stores/postgres.ts';

async function emptyDatabase(t: TestContext): Promise<{ DATABASE_URL: string }> {
  const database = await makeDatabase();
  t.after(() => database.drop());
  return { DATABASE_URL: database.url };
}

const migrations = readdirSync(new URL('../../../src/store/postgres/migrations/', import.meta.url)).sort();

test('migrate creates the store, and says so when there is nothing to do', async (t) => {
  const env = await emptyDatabase(t);
  const made = `Migrated the schema: ${migrations.join(', ')}.\n`;
  assert.equal(wordsOf(await run(['migrate'], env)), made);
  assert.equal(wordsOf(await run(['migrate'], env)), 'The schema is up to date.\n');
  assert.deepEqual(JSON.parse(dataOf(await run(['migrate', '--json'], env))), { applied: [], partitions: 0 });
  assert.equal((await run(['user', 'create', 'ann'], env)).code, 0);
});

test('a verb creates no store in an empty database, and says how to', async (t) => {
  const env = await emptyDatabase(t);
  const { code, stderr } = await run(['user', 'list'], env);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: There is no store in the database \S+\. Create one: plant-store migrate, or /,
  );
  assert.equal(JSON.parse(dataOf(await run(['migrate', '--partitions', '4', '--json'], env))).partitions, 4);
});

test('a verb that waits for a migration of another program says so', async (t) => {
  const env = await emptyDatabase(t);
  wordsOf(await run(['migrate'], env));
  // It can be applied once more.
  await administer(env.DATABASE_URL, `DELETE FROM migrations WHERE name = '0014_touched_users.sql'`);
  const other = new pg.Client({ connectionString: env.DATABASE_URL });
  await other.connect();
  await other.query('SELECT pg_advisory_lock($1, $2)', LOCKS.migration);
  const child = launch(['user', 'list'], env);
  const ended = outcomeOf(child);
  const said = untilSaid(child.stderr, 'The migration waits for another transaction', ended);
  await said.finally(() => other.end());
  assert.equal((await ended).code, 0);
});

test('the data folder and a database cannot both have the store', async (t) => {
  const env = await emptyDatabase(t);
  const { code, stderr } = await run(['user', 'list', '--data-dir', 'elsewhere'], env);
  assert.deepEqual(
    [code, stderr],
    [2, 'error: --data-dir: DATABASE_URL is set, so the store is in that database.\n'],
  );
});

test('a store is created with partitions, and keeps their number', async (t) => {
  const env = await emptyDatabase(t);
  const made = JSON.parse(dataOf(await run(['migrate', '--partitions', '4', '--json'], env)));
  assert.equal(made.partitions, 4);
  const { rows } = await administer(
    env.DATABASE_URL,
    `SELECT relname FROM pg_class WHERE relkind = 'p' ORDER BY relname`,
  );
  assert.deepEqual(
    rows.map(({ relname }) => relname),
    ['attempts', 'deliveries', 'events', 'plants'],
  );
  assert.match(
    failureOf(await run(['migrate', '--partitions', '8'], env)),
    /The store already exists, with 4 partitions\. Partitions can only be set when it is created\.$/,
  );
});

test('a store without partitions gets none', async (t) => {
  const env = await emptyDatabase(t);
  wordsOf(await run(['migrate'], env));
  assert.match(
    failureOf(await run(['migrate', '--partitions', '8'], env)),
    /already exists, without partitions/,
  );
});

test('programs that migrate at the same time create the store once', async (t) => {
  const env = await emptyDatabase(t);
  const outcomes = await Promise.all([1, 2, 3].map(() => outcomeOf(launch(['migrate', '--json'], env))));
  const applied = outcomes.map((outcome) => JSON.parse(dataOf(outcome)).applied.length);
  // Two programs may share the files: each file is applied under a lock.
  assert.equal(
    applied.reduce((sum, count) => sum + count, 0),
    migrations.length,
  );
});

for (const partitions of ['1', '1025', 'x', '']) {
  test(`${JSON.stringify(partitions)} is not a number of partitions`, async () => {
    const { code, stdout, stderr } = await run(['migrate', '--partitions', partitions]);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /The number of partitions must be an integer from 2 to 1024/);
  });
}

test('migrate without a database ends with 2', async () => {
  const { code, stdout, stderr } = await run(['migrate']);
  assert.deepEqual(
    { code, stdout, stderr },
    {
      code: 2,
      stdout: '',
      stderr: 'error: DATABASE_URL: Not set. It names the database in which to create the store.\n',
    },
  );
});
