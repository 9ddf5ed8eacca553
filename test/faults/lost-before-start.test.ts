import assert from 'node:assert/strict';
import { copyFile, cp, readdir, readFile, rename, rm, stat, truncate } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { storePath } from '../../src/config/config.ts';
import { checkListed, type Sent } from '../../testkit/processes/creates.ts';
import { leftBehind } from '../../testkit/processes/left-behind.ts';
import type { Place } from '../../testkit/processes/place.ts';
import { succeeded } from '../../testkit/service/answer.ts';

/** A store whose service was killed, so that only the log has its plants. */
const killedStore = await leftBehind(async (place) => {
  const server = await place.serve();
  const sent: Sent[] = [];
  for (let id = -1; id >= -20; id--) {
    const plant = { id, name: `Plant ${-id}` };
    succeeded(await server.request('POST', '/plants', { body: plant }), 201);
    sent.push({ ...plant, outcome: 201 });
  }
  await server.kill();
  return sent;
});

async function killed(t: TestContext): Promise<{ place: Place; sent: Sent[]; path: string }> {
  const { place, made: sent } = await killedStore(t);
  return { place, sent, path: storePath(place.dataDir) };
}

const ways: { name: string; act(path: string): Promise<void> }[] = [
  { name: 'missing', act: (path) => rm(path) },
  { name: 'moved away', act: (path) => rename(path, `${path}-aside`) },
  { name: 'empty', act: (path) => truncate(path) },
];

for (const { name, act } of ways) {
  test(`a start leaves a log whose database is ${name} unchanged, and says so`, async (t) => {
    const { place, path } = await killed(t);
    const log = await readFile(`${path}-wal`);
    await act(path);
    const { code, stderr } = await place.serveInVain();
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^error: [^\n]*plant-store\.db[^\n]*\n$/);
    assert.ok(log.equals(await readFile(`${path}-wal`)));
  });
}

const cuts: { name: string; act(path: string): Promise<void> }[] = [
  { name: 'without its log', act: (path) => rm(`${path}-wal`) },
  { name: 'whose log was moved', act: (path) => rename(`${path}-wal`, `${path}-aside`) },
  { name: 'whose log was emptied', act: (path) => truncate(`${path}-wal`) },
  {
    name: 'whose log was cut',
    act: async (path) => truncate(`${path}-wal`, (await stat(`${path}-wal`)).size - 1),
  },
  {
    name: 'without its database and log',
    act: async (path) => Promise.all([rm(path), rm(`${path}-wal`)]).then(),
  },
  { name: 'whose database was cut', act: async (path) => truncate(path, (await stat(path)).size / 2) },
  {
    name: 'whose database was replaced by an older one',
    async act(path) {
      await copyFile(path, `${path}-older`);
      await rename(`${path}-older`, path);
    },
  },
];

for (const { name, act } of cuts) {
  test(`a killed service ${name} does not start until its operator says so`, async (t) => {
    const { place, path } = await killed(t);
    await act(path);
    const { code, stderr } = await place.serveInVain();
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^error: [^\n]*plant-store\.db[^\n]* restore a backup[^\n]*\n$/);
    await place.serveInVain();
    await rm(`${path}-sizes`);
    if (!name.includes('database')) await (await place.serve()).stop();
  });
}

test('doctor and backup refuse a store that the service refuses', async (t) => {
  const { place, path } = await killed(t);
  await rm(`${path}-wal`);
  const [doctor, backup] = await Promise.all([
    place.command('doctor'),
    place.command('backup', `${place.folder}/backup`),
  ]);
  assert.equal(doctor.code, 1, doctor.stdout);
  assert.match(doctor.stdout, /^problem {2}Store: The write-ahead log \S+ is missing/m);
  assert.equal(backup.code, 1);
  assert.match(backup.stderr, /^error: The write-ahead log \S+ is missing[^\n]*\n$/);
  await rm(path);
  const { code, stdout } = await place.command('doctor');
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^problem {2}Store: The database \S+ is missing/m);
});

test('a killed service starts even if SQLite has checkpointed and removed its log', async (t) => {
  const { place, sent, path } = await killed(t);
  const db = new DatabaseSync(path);
  db.prepare('SELECT count(*) FROM plants').get();
  db.close();
  assert.equal(await stat(`${path}-wal`).catch(() => undefined), undefined);
  await checkListed(await place.serve(), sent);
});

test('a store copied completely, with its log, after a kill has all its plants', async (t) => {
  const { place, sent } = await killed(t);
  await cp(place.dataDir, `${place.dataDir}-copy`, { recursive: true });
  await rm(place.dataDir, { recursive: true });
  await rename(`${place.dataDir}-copy`, place.dataDir);
  await checkListed(await place.serve(), sent);
});

test('a clean stop leaves only the database, which may then be replaced', async (t) => {
  const { place, path } = await killed(t);
  await (await place.serve()).stop();
  assert.deepEqual((await readdir(place.dataDir)).sort(), ['plant-store.db', 'serving.lock']);
  await copyFile(path, `${path}-copy`);
  await rename(`${path}-copy`, path);
  await (await place.serve()).stop();
});

test('a store moved away and back between two starts has all its plants', async (t) => {
  const { place, sent } = await killed(t);
  await rename(place.dataDir, `${place.dataDir}-aside`);
  await rename(`${place.dataDir}-aside`, place.dataDir);
  await checkListed(await place.serve(), sent);
});
