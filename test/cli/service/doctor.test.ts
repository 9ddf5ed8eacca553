import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { statfsSync } from 'node:fs';
import { chmod, link, mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { compareClocks } from '../../../src/cli/doctor/check.ts';
import { checkDatabase } from '../../../src/cli/doctor/database.ts';
import { checkClock } from '../../../src/cli/doctor/store.ts';
import { checkReceivers } from '../../../src/cli/doctor/webhooks.ts';
import { readStoreConfig, storePath } from '../../../src/config/config.ts';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { readSummary } from '../../../src/store/sqlite/files/summary.ts';
import { parseNetworks } from '../../../src/webhooks/sending/addresses.ts';
import { addPlants, makeFirstVersion } from '../../../testkit/processes/backed-up-store.ts';
import { run, withFolder, withStoreFolder } from '../../../testkit/processes/program.ts';
import { serve } from '../../../testkit/processes/server.ts';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { ownerOf } from '../../../testkit/service/owner.ts';
import { startService } from '../../../testkit/service/service.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { administer, makeDatabase, makeStoreDatabase } from '../../../testkit/stores/postgres.ts';
import { examine } from './examine.ts';

/** Whether a reboot leaves a folder as it is. Temporary folders may be in memory, those of a container in its layer. */
function outlastsReboot(folder: string): boolean {
  const [TMPFS, OVERLAYFS] = [0x01021994, 0x794c7630];
  return ![TMPFS, OVERLAYFS].includes(statfsSync(folder).type);
}

test('doctor finds nothing wrong with a healthy store, and changes nothing', async () => {
  await withStoreFolder(async (folder) => {
    await chmod(folder, 0o700);
    addPlants(folder, 3);
    const before = await stat(storePath(folder));
    const { code, stdout, stderr } = await run(['doctor'], { DATA_DIR: folder, PORT: '0' });
    const fine = outlastsReboot(folder) ? 'Everything is fine.\n' : '0 problems, 1 warning.\n';
    assert.deepEqual([code, stderr], [0, fine], stdout);
    assert.match(stdout, /^ok {7}Node: 26/);
    assert.match(stdout, /\nok {7}Integrity: every page is readable\n/);
    const after = await stat(storePath(folder));
    assert.deepEqual([after.mtimeMs, after.ino, after.size], [before.mtimeMs, before.ino, before.size]);
    assert.deepEqual(await readdir(folder), [basename(storePath(folder))]);
  });
});

test('doctor checks a store of the first version, which the next start migrates', async () => {
  await withFolder(async (folder) => {
    makeFirstVersion(storePath(folder));
    const { code, of } = await examine({ DATA_DIR: folder });
    assert.equal(code, 0);
    assert.match(of('Store')[0]?.text ?? '', /^schema 1 of /);
    assert.equal(of('Integrity')[0]?.verdict, 'ok');
  });
});

test('doctor names every wrong setting and continues with the rest', async () => {
  await withStoreFolder(async (folder) => {
    const { code, of } = await examine({ DATA_DIR: folder, PORT: 'x', RATE_LIMIT: 'y' });
    assert.equal(code, 1);
    assert.deepEqual(
      of('Settings').map(({ verdict, text }) => [verdict, text.split(':')[0]]),
      [
        ['problem', 'PORT'],
        ['problem', 'RATE_LIMIT'],
      ],
    );
    assert.equal(of('Integrity')[0]?.verdict, 'ok');
  });
});

test('doctor finds a running server, and does not disturb it', async () => {
  await withStoreFolder(async (folder) => {
    const port = String(await freePort());
    const service = await serve(folder);
    const url = new URL(service.url);
    const { code, of } = await examine({ DATA_DIR: folder, PORT: url.port });
    assert.equal(code, 0);
    assert.match(of('Server')[0]?.text ?? '', /^runs and is ready/);
    const elsewhere = await examine({ DATA_DIR: folder, PORT: port, PUBLIC_URL: service.url });
    assert.match(elsewhere.of('Server')[0]?.text ?? '', /a server runs .* but does not answer at/);
    assert.match(elsewhere.of('Public URL')[0]?.text ?? '', /answers$/);
    assert.match(elsewhere.of('Clock').at(-1)?.text ?? '', /^agrees with http/);
    assert.equal((await service.stop()).code, 0);
  });
});

test('doctor finds a port that another program uses', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  await withStoreFolder(async (folder) => {
    const { code, of } = await examine({ DATA_DIR: folder, PORT: String(port) });
    assert.equal(code, 1);
    assert.match(of('Port')[0]?.text ?? '', /cannot listen on .*, and no server runs .*EADDRINUSE/);
  });
});

test('doctor finds a damaged store, one of another program, and one of a newer version', async () => {
  await withStoreFolder(async (folder) => {
    addPlants(folder, 20_000);
    const store = await open(storePath(folder), 'r+');
    // In the middle of the plants.
    await store.write(Buffer.alloc(5 * 4096, 0xa5), 0, 5 * 4096, 60 * 4096);
    await store.close();
    const damaged = await examine({ DATA_DIR: folder });
    assert.equal(damaged.code, 1);
    assert.match(damaged.of('Integrity')[0]?.text ?? '', /^the store is damaged: /);
    assert.match(damaged.of('Integrity')[0]?.advice ?? '', /plant-store restore FILE/);
  });
  await withStoreFolder(async (folder) => {
    const db = new DatabaseSync(storePath(folder));
    db.exec(`INSERT INTO migrations VALUES (99, 'x', 'x', 1)`);
    db.close();
    const newer = await examine({ DATA_DIR: folder });
    assert.match(newer.of('Store')[0]?.text ?? '', /created by a newer version/);
    assert.match(newer.of('Store')[0]?.advice ?? '', /run the version of plant-store that created it/);
    assert.deepEqual(await readdir(folder), [basename(storePath(folder))]);
    await rm(storePath(folder));
    const foreign = new DatabaseSync(storePath(folder));
    foreign.exec('CREATE TABLE notes (text TEXT)');
    foreign.close();
    const notes = await examine({ DATA_DIR: folder });
    assert.match(notes.of('Store')[0]?.text ?? '', /It is a database, but not a plant store/);
    await rm(storePath(folder));
    await writeFile(storePath(folder), 'no database at all'.repeat(300));
    const other = await examine({ DATA_DIR: folder });
    assert.match(other.of('Store')[0]?.text ?? '', /cannot be read: its file is not a database/);
  });
});

test('doctor advises to restore a backup only for a damaged store', async () => {
  await withFolder(async (folder) => {
    // SQLite opens a folder, and fails to read it.
    await mkdir(storePath(folder));
    const { of } = await examine({ DATA_DIR: folder });
    assert.match(of('Store')[0]?.text ?? '', /cannot be read: the disk reports an error$/);
    assert.match(of('Store')[0]?.advice ?? '', /^Check the system's log/);
  });
});

test('doctor finds a broken store in a folder that others may read', async () => {
  await withStoreFolder(async (folder) => {
    await writeFile(storePath(folder), 'no database at all'.repeat(300));
    await chmod(folder, 0o755);
    const { code, of } = await examine({ DATA_DIR: folder });
    assert.equal(code, 1);
    assert.equal(of('Data folder')[0]?.verdict, 'warning');
    assert.match(of('Store')[0]?.text ?? '', /cannot be read: its file is not a database/);
  });
});

test('doctor warns of files readable by others, a second name of the store, and a missing folder', async () => {
  await withStoreFolder(async (folder) => {
    await chmod(folder, 0o755);
    await chmod(storePath(folder), 0o644);
    const alias = `${storePath(folder)}.before-restore-20261121T120000Z`;
    await link(storePath(folder), alias);
    const damaged = `${storePath(folder)}.before-restore-20261121T130000Z`;
    await link(storePath(folder), damaged);
    await writeFile(`${damaged}-wal`, 'its log');
    const { code, of } = await examine({ DATA_DIR: folder });
    assert.equal(code, 0);
    assert.deepEqual(
      [of('Data folder')[0]?.verdict, of('Data folder')[0]?.advice],
      ['warning', `chmod 700 ${folder}`],
    );
    assert.deepEqual(
      of('Store').map(({ advice }) => advice),
      [
        undefined,
        `chmod 600 ${storePath(folder)}`,
        `Remove that name; the store stays: rm ${alias}`,
        'Run it again: plant-store restore FILE.',
      ],
    );
  });
  await withFolder(async (folder) => {
    const { code, of } = await examine({ DATA_DIR: `${folder}/none` });
    assert.equal(code, 0);
    assert.match(of('Data folder')[0]?.text ?? '', /none does not exist$/);
    assert.deepEqual(await readdir(folder), []);
  });
});

test('doctor connects to the receivers of webhooks by the rules of deliveries, and sends nothing', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const gone = `http://127.0.0.1:${await freePort()}`;
  const found = await checkReceivers(
    [
      { webhook: 'wh_1', url: `${receiver.url}?key=secret` },
      { webhook: 'wh_2', url: receiver.url },
      { webhook: 'wh_3', url: `${gone}/hook` },
      { webhook: 'wh_4', url: 'https://10.0.0.1/hook' },
      { webhook: 'wh_5', url: 'https://no-such-host.invalid/hook' },
    ].map((one) => ({ ...one, isHealthy: false })),
    parseNetworks('127.0.0.0/8'),
  );
  const texts = found.map(({ verdict, text }) => `${verdict}: ${text}`).sort();
  assert.equal(texts[0], 'ok: 1 of 4 receivers can be reached');
  assert.match(texts[1] ?? '', /^warning: the receiver of wh_3 cannot be reached: .*refused the connection$/);
  assert.match(texts[2] ?? '', /wh_4 .*refused by the rule "private"/);
  assert.match(texts[3] ?? '', /wh_5 .*(?:name|connection)/);
  assert.doesNotMatch(texts.join(), /secret|\/hook/);
  assert.equal(receiver.received.length, 0);
});

test('doctor does not warn of a receiver that the service reaches with other settings', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  t.after(service.stop);
  const owner = ownerOf(service, service.token);
  const id = await owner.subscribe(receiver);
  const check = async () => {
    const { of } = await examine({ DATA_DIR: service.dataDir, PORT: String(service.port) });
    return of('Webhooks').map(({ verdict, text }) => `${verdict}: ${text}`);
  };
  assert.match((await check()).join(), /^warning: .*WEBHOOK_ALLOWED_NETWORKS/);
  await owner.create(1);
  await owner.settled(id);
  assert.deepEqual(await check(), ['ok: 1 of 1 receiver can be reached']);
});

test('doctor checks a database: its version, store, connections and clock; and the port', async (t: TestContext) => {
  const database = await makeDatabase();
  t.after(() => database.drop());
  const server = await startReceiver();
  t.after(server.stop);
  server.usually({ status: 200 });
  const empty = await examine({ DATABASE_URL: database.url, PORT: String(server.port) });
  assert.equal(empty.code, 0);
  assert.match(empty.of('Server')[0]?.text ?? '', /^runs and is ready: http/);
  assert.match(empty.of('Database')[0]?.text ?? '', /PostgreSQL \d+.*accepts writes$/);
  assert.match(empty.of('Store')[0]?.text ?? '', /the database has none/);
  assert.equal((await run(['migrate'], { DATABASE_URL: database.url })).code, 0);
  server.usually({ status: 404 });
  const settings = { DATABASE_CONNECTIONS: '1000', PORT: String(server.port) };
  const made = await examine({ DATABASE_URL: database.url, ...settings });
  assert.equal(made.code, 1);
  assert.match(made.of('Port')[0]?.text ?? '', /^cannot listen on .*EADDRINUSE/);
  assert.match(made.of('Store')[0]?.text ?? '', /^schema \d+$/);
  assert.match(made.of('Connections')[0]?.text ?? '', /DATABASE_CONNECTIONS=1000 allows 0 replicas/);
  assert.match(made.of('Clock')[0]?.text ?? '', /agrees with the database/);
});

test('doctor counts the connections of other roles, and those of a role with a limit alone', async (t) => {
  const database = await makeDatabase();
  const role = `role_${randomBytes(6).toString('hex')}`;
  await administer(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'plants'`);
  const { href } = Object.assign(new URL(database.url), { username: role, password: 'plants' });
  const others = Array.from({ length: 3 }, () => new pg.Client({ connectionString: database.url }));
  t.after(async () => {
    for (const other of others) await other.end();
    await administer(database.url, `DROP ROLE ${role}`);
    await database.drop();
  });
  for (const other of others) await other.connect();
  const settings = readStoreConfig({ DATABASE_URL: href }, {});
  const found = async () => {
    const findings = await Array.fromAsync(checkDatabase(parseDatabaseUrl(href), settings, undefined));
    return findings.find(({ name }) => name === 'Connections')?.text ?? '';
  };
  const text = await found();
  assert.ok(Number.parseInt(text, 10) > others.length, text);
  await administer(database.url, `ALTER ROLE ${role} CONNECTION LIMIT 20`);
  assert.equal(await found(), '1 of 20 are open');
});

test('doctor finds what keeps a service from a database: missing rights, and an unfinished copy', async (t) => {
  const database = await makeStoreDatabase();
  t.after(() => database.drop());
  const url = parseDatabaseUrl(database.url);
  const settings = readStoreConfig({ DATABASE_URL: database.url }, {});
  const found = async () => {
    const findings = await Array.fromAsync(checkDatabase(url, settings, undefined));
    return findings.filter(({ name }) => name === 'Store').map(({ verdict, text }) => `${verdict}: ${text}`);
  };
  assert.match((await found()).join(), /^ok: schema \d+$/);
  // Nobody has a right on a table that is not there.
  await administer(database.url, 'ALTER TABLE lanes RENAME TO aside');
  assert.deepEqual(await found(), [
    'problem: the role of the service lacks rights: SELECT on lanes, INSERT on lanes, UPDATE on lanes',
  ]);
  await administer(database.url, 'CREATE TABLE copy_progress ()');
  assert.deepEqual(await found(), ['problem: a copy into it is running, or was interrupted']);
});

test('doctor says in one line why a database cannot be used', async () => {
  const { code, of } = await examine({
    DATABASE_URL: `postgres://a:secret@127.0.0.1:${await freePort()}/plants`,
  });
  assert.equal(code, 1);
  assert.match(
    of('Database')[0]?.text ?? '',
    /postgres:\/\/a@127.*cannot be used: nothing listens on its port/,
  );
});

test('doctor reports an identity provider that does not answer', async () => {
  await withStoreFolder(async (folder) => {
    const issuer = `http://127.0.0.1:${await freePort()}`;
    const { code, of } = await examine({ DATA_DIR: folder, JWT_ISSUER: issuer, JWT_AUDIENCE: 'plants' });
    assert.equal(code, 0);
    assert.match(of('Identity provider')[0]?.text ?? '', /does not serve its keys: .*ECONNREFUSED/);
  });
});

test('doctor reports differing clocks, and which one is ahead', () => {
  assert.equal(compareClocks('b', 900, 0).verdict, 'ok');
  assert.equal(compareClocks('b', 60_000, 0).text, 'is 60 s ahead of b');
  assert.equal(compareClocks('b', -60_000, 0).text, 'is 60 s behind b');
  assert.equal(compareClocks('b', 60_000, 58_000).verdict, 'ok');
  assert.match(checkClock(10_000, 100_000).text, /, after the newest event$/);
  assert.match(checkClock(100_000, 10_000).text, /is 90 s before the newest event/);
});

test('doctor warns of a clock that was ahead also after a newer event got the right time', async () => {
  await withStoreFolder(async (folder) => {
    // Created at 1, with an id of now.
    addPlants(folder, 1);
    const { newestEventAt = 0 } = readSummary(storePath(folder));
    assert.equal(checkClock(newestEventAt, 1).verdict, 'warning');
  });
});
