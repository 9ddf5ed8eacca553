import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { makePlace } from '../../../testkit/processes/place.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { startDatabaseServer } from '../../../testkit/stores/postgres-server.ts';
import {
  checkConnections,
  checkEvents,
  type LogLine,
  type Outage,
  ROLE,
  startOutage,
  untilStatus,
} from './outage.ts';

/** How a running service behaves when its database fails: clear answers, and recovery without a restart. */

const UNAVAILABLE = 'the store cannot be used';
const BACK = 'the store can be used again';

/** How often a message is in the log. */
const count = (log: readonly LogLine[], message: string) => log.filter(({ msg }) => msg === message).length;

/** Checks that reads and writes fail with the right code, while the process stays alive. */
async function checkDown({ server, untilNext }: Outage): Promise<void> {
  await untilNext(50302);
  await untilStatus(server, '/readyz', 503);
  const answer = await server.request('GET', '/plants');
  failed(answer, 50302, /nothing was done/);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  failed(await server.request('GET', '/readyz'), 50302);
  succeeded(await server.request('GET', '/healthz'), 200);
}

/**
 * Checks that it works again, without more connections than before, and without losses or duplicates. Returns the log.
 */
async function checkBack(outage: Outage): Promise<LogLine[]> {
  const { server, untilNext } = outage;
  await untilNext(201);
  await untilStatus(server, '/readyz', 200);
  succeeded(await server.request('GET', '/plants?limit=1'), 200);
  await checkConnections(outage);
  const log = await outage.over();
  await checkEvents(outage);
  return log;
}

/** Checks that the log reports the loss of the store once, with the reason, and the recovery once. */
function checkTold(log: readonly LogLine[], reason: RegExp): void {
  assert.deepEqual([count(log, UNAVAILABLE), count(log, BACK)], [1, 1]);
  assert.match(log.find(({ msg }) => msg === UNAVAILABLE)?.err?.message ?? '', reason);
  const told = log.filter(({ level }) => level > 30).length;
  assert.ok(told < 50, `${told} lines of warnings`);
}

test('while the server is stopped every answer is a retryable failure, and the service recovers when it is back', async (t) => {
  const outage = await startOutage(t);
  // A connection that is made while the server stops may be reset instead of refused.
  outage.server.signal('SIGSTOP');
  await outage.database.stop();
  outage.server.signal('SIGCONT');
  await checkDown(outage);
  await outage.database.start();
  checkTold(await checkBack(outage), /ECONNREFUSED/);
});

test('restarting the server under load loses and duplicates nothing', async (t) => {
  const outage = await startOutage(t);
  for (let restarts = 0; restarts < 3; restarts++) {
    await outage.database.stop();
    await outage.database.start();
    await outage.untilNext(201);
  }
  await checkBack(outage);
});

test('when all connections are ended repeatedly, the next requests get new ones', async (t) => {
  const outage = await startOutage(t);
  for (let times = 0; times < 20; times++) {
    await endConnections(outage);
    await outage.untilNext(201);
  }
  await checkBack(outage);
});

test('when the server has no connection left for the service, it continues as soon as one is free', async (t) => {
  const outage = await startOutage(t);
  await outage.run(`ALTER ROLE ${ROLE} CONNECTION LIMIT 0`);
  await endConnections(outage);
  await checkDown(outage);
  await outage.run(`ALTER ROLE ${ROLE} CONNECTION LIMIT -1`);
  checkTold(await checkBack(outage), /too many connections/);
});

test('with fewer connections than the service may open, it uses those', async (t) => {
  const outage = await startOutage(t);
  await outage.run(`ALTER ROLE ${ROLE} CONNECTION LIMIT 2`);
  await endConnections(outage);
  await outage.untilNext(201);
  for (let reads = 0; reads < 50; reads++) {
    const { status } = await outage.server.request('GET', '/plants?limit=1');
    assert.ok(status === 200 || status === 503, String(status));
  }
  await outage.run(`ALTER ROLE ${ROLE} CONNECTION LIMIT -1`);
  await checkBack(outage);
});

test('when a right is revoked, requests that need it fail with the reason in the log, and the rest continue', async (t) => {
  const outage = await startOutage(t);
  await outage.run(`REVOKE INSERT ON plants FROM ${ROLE}`);
  await outage.untilNext(50302);
  await untilStatus(outage.server, '/readyz', 503);
  succeeded(await outage.server.request('GET', '/plants?limit=1'), 200);
  await outage.run(`GRANT INSERT ON plants TO ${ROLE}`);
  const log = await checkBack(outage);
  checkTold(log, /lacks rights: INSERT on plants\./);
  assert.ok(log.some(({ err }) => /permission denied/.test(err?.message ?? '')));
});

test('a service whose role may not read is not ready until it can, even without requests', async (t) => {
  const outage = await startOutage(t);
  await outage.run(`REVOKE SELECT ON deliveries, shares FROM ${ROLE}`);
  await untilStatus(outage.server, '/readyz', 503);
  failed(await outage.server.request('GET', '/readyz'), 50302);
  await outage.run(`GRANT SELECT ON shares TO ${ROLE}`);
  failed(await outage.server.request('GET', '/readyz'), 50302);
  await outage.run(`GRANT SELECT ON deliveries TO ${ROLE}`);
  checkTold(await checkBack(outage), /lacks rights: SELECT on (?:shares|deliveries)/);
});

test('when a table is missing, requests that need it fail with the reason in the log, until it is back', async (t) => {
  const outage = await startOutage(t);
  await outage.run('ALTER TABLE plants RENAME TO hidden');
  await outage.untilNext(50302);
  failed(await outage.server.request('GET', '/plants?limit=1'), 50302);
  await outage.run('ALTER TABLE hidden RENAME TO plants');
  const log = await checkBack(outage);
  assert.ok(log.some(({ err }) => /"plants" does not exist/.test(err?.message ?? '')));
});

test('when another session locks a table, its users are answered in time, and continue when it is unlocked', async (t) => {
  const outage = await startOutage(t);
  const { database, server } = outage;
  const somebody = new pg.Client({ connectionString: database.url.replace(/\w+$/, 'plants') });
  await somebody.connect();
  await somebody.query('BEGIN; LOCK TABLE plants');
  using watch = startWatch();
  const answer = await server.request('GET', '/plants?limit=1');
  failed(answer, 50302);
  const seconds = watch.ms() / 1000;
  assert.ok(seconds < 12, `answered after ${seconds} s`);
  await outage.untilNext(50302);
  await somebody.end();
  await checkBack(outage);
});

test('on a full disk creates fail and reads continue, and with space again creates succeed', async (t) => {
  const small = await mountSmall();
  if (!small) return t.skip('this user may not mount a small file system');
  const { folder, unmount } = small;
  // After the server, whose data is there.
  const outage = await startOutage(t, { folder }).finally(() => t.after(unmount));
  const ballast = join(folder, 'ballast');
  const { bavail, bsize } = await statfs(folder);
  // PostgreSQL may take some of it meanwhile: then nothing is left.
  await writeFile(ballast, Buffer.alloc(bavail * bsize - 64 * 1024)).catch(({ code }) =>
    assert.equal(code, 'ENOSPC'),
  );
  await outage.untilNext(50302);
  succeeded(await outage.server.request('GET', '/plants?limit=1'), 200);
  await rm(ballast);
  const log = await checkBack(outage);
  assert.ok(log.some(({ err }) => /No space left|could not extend/.test(err?.message ?? '')));
});

test('a standby is never written to, and is used once it is promoted', async (t) => {
  const primary = await startDatabaseServer(t);
  const place = await makePlace(t);
  await (await place.serve({ env: { DATABASE_URL: primary.url } })).stop();
  await primary.stop();
  const standby = await primary.copy();
  await standby.write('standby.signal', '');
  await Promise.all([primary.start(), standby.start()]);

  // A missing server, the standby, and the primary.
  const DATABASE_URL = primary.url.replace('@', `@127.0.0.1:1,127.0.0.1:${standby.port},`);
  const server = await place.serve({ env: { DATABASE_URL } });
  const create = (name: string) => server.request('POST', '/plants', { body: { name } });
  succeeded(await create('Alder'), 201);
  await primary.stop();
  failed(await create('Birch'), 50302);
  await untilStatus(server, '/readyz', 503);
  await standby.run('SELECT pg_promote()');
  await untilStatus(server, '/readyz', 200);
  succeeded(await create('Cedar'), 201);
  // The old primary returns, as if nothing fenced it off.
  await primary.start();
  succeeded(await create('Dogwood'), 201);
  const { stdout } = await server.stop();
  assert.ok(stdout.includes('The database server accepts no writes'), 'why the standby was not used');
});

type Small = { folder: string; unmount(): Promise<void> };

/** A file system with space for little more than a database. Undefined where mounting is forbidden. */
async function mountSmall(): Promise<Small | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-small-'));
  const owner = spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).stdout.trim();
  const options = `size=24m,mode=700,uid=${owner}`;
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  const unmount = async () => {
    if (status === 0) spawnSync('umount', ['--lazy', folder]);
    await rm(folder, { recursive: true });
  };
  if (status === 0) return { folder, unmount };
  await unmount();
  return undefined;
}

/** Ends them on the server, as an administrator would. */
async function endConnections({ run }: Outage): Promise<void> {
  await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`);
}
