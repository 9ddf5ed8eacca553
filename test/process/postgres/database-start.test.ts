import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import pg from 'pg';
import { makePlace } from '../../../testkit/processes/place.ts';
import { launch, outcomeOf, run } from '../../../testkit/processes/program.ts';
import { failToServe } from '../../../testkit/processes/server.ts';
import { succeeded } from '../../../testkit/service/answer.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { selfSigned } from '../../../testkit/sockets/certificate.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { administer, makeDatabase, type TestDatabase } from '../../../testkit/stores/postgres.ts';
import { startDatabaseServer } from '../../../testkit/stores/postgres-server.ts';

/** The program with an unusable database: one line of advice, exit code 1, and no password. */

const CANARY = 'canary-of-a-password';

let database: TestDatabase;
before(async () => {
  database = await makeDatabase();
});
after(() => database.drop());

/** The database's URL with these changes; the password is wrong unless given. */
function urlWith(changes: { [K in keyof URL]?: URL[K] }): string {
  const url = Object.assign(new URL(database.url), { password: CANARY }, changes);
  return url.href;
}

const sql = (text: string) => administer(database.url, text);

/** Creates a role whose password is the canary. Its name is unique, since other tests use the server too. */
async function makeRole(t: TestContext, options = 'LOGIN'): Promise<string> {
  const name = `${new URL(database.url).pathname.slice(1)}_${t.name.replaceAll(/\W+/g, '_').slice(0, 40)}`;
  await sql(`CREATE ROLE "${name}" PASSWORD '${CANARY}' ${options}`);
  t.after(() => sql(`DROP ROLE "${name}"`));
  return name;
}

/** Checks that the service and another verb print the same line, with these parts. */
async function refused(url: string, ...parts: RegExp[]): Promise<void> {
  const env = { DATABASE_URL: url };
  const outcomes = await Promise.all([failToServe('', { env }), run(['migrate'], env)]);
  for (const { code, stdout, stderr } of outcomes) {
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^error: [^\n]+\n$/);
    for (const part of parts) assert.match(stderr, part);
    assert.ok(!(stdout + stderr).includes(CANARY), 'the password was shown');
  }
  assert.equal(outcomes[0].stderr, outcomes[1].stderr);
}

test('a host that does not resolve', () =>
  refused(
    urlWith({ hostname: 'no-such-host.invalid' }),
    /no-such-host\.invalid/,
    /does not resolve|cannot be resolved/,
  ));

test('a port where nothing listens', () =>
  refused(urlWith({ port: '1' }), /:1\//, /nothing listens/, /Start the server/));

test('several unusable hosts, each with its reason', async () => {
  const { port, pathname } = new URL(database.url);
  const url = `postgres://postgres:${CANARY}@127.0.0.1:1,127.0.0.1:${port}${pathname}`;
  await refused(
    url,
    /127\.0\.0\.1:1: nothing listens/,
    new RegExp(`:${port}: password authentication failed`),
  );
});

test('a wrong password, or a role that does not exist', async () => {
  await refused(
    urlWith({}),
    /password authentication failed for user "postgres"/,
    /Correct the user and password/,
  );
  await refused(urlWith({ username: 'nobody' }), /failed for user "nobody"/);
});

test('no password where one is required', () =>
  refused(urlWith({ password: '' }), /DATABASE_URL contains no password/));

test('a role that may not log in', async (t) => {
  const username = await makeRole(t, 'NOLOGIN');
  await refused(urlWith({ username }), /is not permitted to log in/);
});

test('a database that does not exist', () => {
  const { password } = new URL(database.url);
  return refused(urlWith({ password, pathname: '/nowhere' }), /"nowhere" does not exist/, /CREATE DATABASE/);
});

test('no right to create tables', async (t) => {
  const username = await makeRole(t);
  await refused(urlWith({ username }), /permission denied for schema public/, /owner of the database/);
});

test('a role without connections left', async (t) => {
  const username = await makeRole(t, 'LOGIN CONNECTION LIMIT 0');
  await refused(urlWith({ username }), /too many connections/, /DATABASE_CONNECTIONS/);
});

test('a server that accepts no writes', async (t) => {
  const username = await makeRole(t);
  await sql(`ALTER ROLE "${username}" SET default_transaction_read_only = on`);
  await refused(urlWith({ username }), /the server accepts no writes\. Set DATABASE_URL to the primary/);
});

test('tables of another program', async (t) => {
  const { password, pathname } = new URL(database.url);
  for (const table of ['plants', 'migrations']) {
    const name = `${pathname.slice(1)}_other_${table}`;
    await sql(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
    t.after(() => sql(`DROP DATABASE ${name} WITH (FORCE)`));
    const url = urlWith({ password, pathname: `/${name}` });
    await administer(url, `CREATE TABLE ${table} (id int)`);
    const says =
      /it has tables that this version of plant-store did not create \(.*\)\. Choose an empty database\.$/m;
    await refused(url, says);
  }
});

test('an encoding other than UTF-8', async (t) => {
  const name = `${new URL(database.url).pathname.slice(1)}_ascii`;
  await sql(`CREATE DATABASE ${name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`);
  t.after(() => sql(`DROP DATABASE ${name} WITH (FORCE)`));
  const { password } = new URL(database.url);
  await refused(urlWith({ password, pathname: `/${name}` }), /SQL_ASCII; UTF8 is required/);
});

test('TLS where the server has none, and a missing certificate file', async () => {
  await refused(urlWith({ search: '?sslmode=verify-full' }), /does not support SSL/);
  await refused(
    urlWith({ search: '?sslmode=verify-full&sslrootcert=/nowhere/ca.pem' }),
    /\/nowhere\/ca\.pem/,
  );
});

for (const [kind, answer] of [
  ['says nothing', undefined],
  ['hangs up', ''],
  ['is another service', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
] as const) {
  test(`a port where a server ${kind}`, async (t) => {
    const other = createServer((socket) => {
      socket.on('error', () => {});
      if (answer !== undefined) socket.end(answer);
      t.after(() => socket.destroy());
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => other.close());
    const address = other.address();
    assert.ok(typeof address === 'object' && address !== null);
    await refused(
      urlWith({ port: String(address.port) }),
      /Connection terminated/,
      /running PostgreSQL server/,
    );
  });
}

test('an invalid URL among other wrong settings exits with 2 and a line for each', async () => {
  const { code, stderr } = await run(['serve'], { DATABASE_URL: `postgres://ann:${CANARY}@`, ROLES: 'all' });
  assert.equal(code, 2);
  assert.match(stderr, /^error: DATABASE_URL: [^\n]+\nerror: ROLES: [^\n]+\n$/);
  assert.ok(!stderr.includes(CANARY));
  assert.equal((await run(['user', 'list'], { DATABASE_URL: 'x' })).code, 2);
});

test('a schema that this version does not understand, and a later one that it understands', async (t) => {
  const { url, drop } = await makeDatabase();
  t.after(drop);
  const env = { DATABASE_URL: url };
  assert.equal((await run(['migrate'], env)).code, 0);
  assert.equal((await run(['user', 'create', 'ann'], env)).code, 0);
  await administer(url, `INSERT INTO migrations VALUES (99, '0099_later.sql', 'x', 99, 0)`);
  await refused(url, /newer version of plant-store \(schema 99, .*start that version instead/);
  await administer(url, 'UPDATE migrations SET compatible_from = 1 WHERE version = 99');
  const { code, stdout } = await run(['user', 'list', '--json'], env);
  assert.deepEqual([code, JSON.parse(stdout).length], [0, 1]);
  const server = await (await makePlace(t)).serve({ env });
  succeeded(await server.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
});

test('a server that requires TLS with an untrusted certificate', async (t) => {
  const server = await startDatabaseServer(t);
  await server.run(`CREATE ROLE ann LOGIN PASSWORD '${CANARY}'`);
  await server.run('CREATE DATABASE plants OWNER ann');
  const { key, cert } = selfSigned('localhost');
  await server.write('server.key', key);
  await server.write('server.crt', cert);
  await server.write('pg_hba.conf', HBA);
  await server.write('postgresql.auto.conf', 'ssl = on\n');
  await server.stop();
  await server.start();

  const url = `postgres://ann:${CANARY}@localhost:${server.port}/plants`;
  await refused(url, /no pg_hba\.conf entry for host/, /sslmode=verify-full/);
  await refused(`${url}?sslmode=verify-full`, /certificate is not trusted/, /sslrootcert=/);
  const { folder } = await makePlace(t);
  const authority = join(folder, 'ca.pem');
  await writeFile(authority, cert);
  const DATABASE_URL = `${url}?sslmode=verify-full&sslrootcert=${authority}`;
  const { code, stderr } = await run(['migrate'], { DATABASE_URL });
  assert.equal(code, 0, stderr);

  const expired = selfSigned('localhost', '20210101');
  await server.write('server.key', expired.key);
  await server.write('server.crt', expired.cert);
  await writeFile(authority, expired.cert);
  await server.run('SELECT pg_reload_conf()');
  await refused(DATABASE_URL, /certificate has expired/, /Renew the server's certificate/, /clock/);
});

test('a migration that the server cannot complete', async (t) => {
  const server = await startDatabaseServer(t);
  const DATABASE_URL = server.url.replace(/\/postgres$/, '/plants');
  await server.run('CREATE DATABASE plants');
  await server.write('postgresql.auto.conf', 'max_locks_per_transaction = 10\n');
  await server.stop();
  await server.start();
  const many = await run(['migrate', '--partitions', '512'], { DATABASE_URL });
  assert.match(many.stderr, /plants cannot be used: out of shared memory\. .*max_locks_per_transaction/);

  const other = new pg.Client({ connectionString: DATABASE_URL });
  t.after(() => other.end());
  await other.connect();
  // The lock of migrations.
  await other.query('SELECT pg_advisory_lock(1886150515, 1)');
  const migrating = run(['migrate'], { DATABASE_URL });
  const pid = await eventually('wait for the lock', async () => {
    const { rows } = await other.query(
      `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`,
    );
    return rows[0]?.pid;
  });
  other.on('error', () => {});
  // It tells nobody, and the server ends all other sessions.
  process.kill(pid, 'SIGKILL');
  const { code, stderr } = await migrating;
  // It does not stop while it recovers.
  await eventually('recovered server', () => server.run('SELECT 1').catch(() => undefined));
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: The database \S+ cannot be used: Connection terminated unexpectedly\. [^\n]+\n$/,
  );
});

/** The test's superuser needs no TLS. */
const HBA = 'hostssl all all all scram-sha-256\nhostnossl all postgres all scram-sha-256\n';

test('SIGTERM ends a start that waits for the schema, which leaves nothing behind', async (t) => {
  const { url, drop } = await makeDatabase();
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  t.after(() => other.end());
  t.after(drop);
  // The lock that a migration takes.
  await other.query('SELECT pg_advisory_lock(1886150515, 1)');
  const port = await freePort();
  const child = launch(['serve'], { PORT: String(port), DATABASE_URL: url });
  t.after(() => child.kill('SIGKILL'));
  const ended = outcomeOf(child);
  await eventually('answer', () => fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined));
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const { rows } = await other.query(`SELECT to_regclass('migrations') AS made`);
  assert.deepEqual(rows, [{ made: null }]);
});
