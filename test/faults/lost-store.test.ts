import assert from 'node:assert/strict';
import { copyFile, cp, rename, rm, stat, truncate } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { storePath } from '../../src/config/config.ts';
import { checkListed, createUntilFailed, type Sent } from '../../testkit/processes/creates.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import type { Server } from '../../testkit/processes/server.ts';
import { failed, succeeded } from '../../testkit/service/answer.ts';

/** Below every id that creates under load choose. */
const FIRST = -1_000_000;

/** A service with plants, and what its clients know. */
async function served(t: TestContext): Promise<{ place: Place; server: Server; sent: Sent[]; path: string }> {
  const place = await makePlace(t);
  const server = await place.serve();
  const sent: Sent[] = [];
  for (let number = 1; number <= 20; number++) await create(server, sent, FIRST - number);
  return { place, server, sent, path: storePath(place.dataDir) };
}

async function create(server: Server, sent: Sent[], id: number): Promise<void> {
  const plant = { id, name: `Plant ${-id}` };
  succeeded(await server.request('POST', '/plants', { body: plant }), 201);
  sent.push({ ...plant, outcome: 201 });
}

/** The log's lines with this text, among errors and recoveries. */
function lines(stdout: string, text: string): string[] {
  const errors = stdout
    .split('\n')
    .filter((line) => line.includes('"level":50') || line.includes('"level":30'));
  return errors.filter((line) => line.includes(text));
}

test('while a data folder is moved away creates are refused, and the service recovers when it is back', async (t) => {
  const { place, server, sent } = await served(t);
  await rename(place.dataDir, `${place.dataDir}-moved`);
  const first = { id: FIRST, name: 'Alder' };
  const { text } = await server.request('POST', '/plants', { body: first });
  // The service may notice before the create does.
  const outcome = Number(JSON.parse(text).error);
  assert.ok(outcome === 50301 || outcome === 50302, text);
  sent.push({ ...first, outcome });
  failed(await server.request('POST', '/plants', { body: { name: 'Alder' } }), 50302, /nothing was done/);
  failed(await server.request('GET', '/readyz'), 50302);
  await checkListed(server, sent);

  await rename(`${place.dataDir}-moved`, place.dataDir);
  await create(server, sent, FIRST - 21);
  succeeded(await server.request('GET', '/readyz'), 200);
  const { code, stdout } = await server.stop();
  assert.equal(code, 0);
  assert.equal(lines(stdout, 'was moved away').length, 1);
  assert.equal(lines(stdout, 'are back').length, 1);
  await checkListed(await place.serve(), sent);
});

test('moved away and back under load, a store has every acknowledged plant', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve();
  const sent: Sent[] = [];
  for (let round = 0; round < 5; round++) {
    let isMoved: Promise<void> | undefined;
    await createUntilFailed(server, sent, () => {
      if (sent.length % 100 > 80) isMoved ??= rename(place.dataDir, `${place.dataDir}-moved`);
    });
    await isMoved;
    await rename(`${place.dataDir}-moved`, place.dataDir);
  }
  assert.deepEqual(
    sent.filter(({ outcome }) => outcome !== 201 && outcome !== 50301 && outcome !== 50302),
    [],
  );
  await server.kill();
  const listed = await (await place.serve()).request('GET', '/plants?fields=name');
  const names = new Set((succeeded(listed, 200) as { name: string }[]).map(({ name }) => name));
  for (const { name, outcome } of sent) if (outcome === 201) assert.ok(names.has(name), name);
  for (const { name, outcome } of sent) if (outcome === 50302) assert.ok(!names.has(name), name);
});

type Way = { name: string; act(place: Place, path: string): Promise<void>; says: RegExp };

/** Irreversible losses that leave a part which a start must not take for the whole. */
const ways: Way[] = [
  {
    name: 'data folder is deleted',
    act: ({ dataDir }) => rm(dataDir, { recursive: true }),
    says: /plant-store\.db was deleted/,
  },
  { name: 'database is deleted', act: (_, path) => rm(path), says: /plant-store\.db was deleted/ },
  {
    name: 'database is replaced by a copy',
    act: async (_, path) => {
      await copyFile(path, `${path}-copy`);
      await rename(`${path}-copy`, path);
    },
    says: /plant-store\.db was replaced/,
  },
  {
    name: 'data folder is replaced by a copy',
    act: async ({ dataDir }) => {
      await cp(dataDir, `${dataDir}-copy`, { recursive: true });
      await rename(dataDir, `${dataDir}-old`);
      await rename(`${dataDir}-copy`, dataDir);
    },
    says: /plant-store\.db was replaced/,
  },
  { name: 'database is emptied', act: (_, path) => truncate(path), says: /plant-store\.db was truncated/ },
  {
    name: 'database is cut',
    act: async (_, path) => truncate(path, Math.floor((await stat(path)).size / 2)),
    says: /plant-store\.db was truncated/,
  },
  {
    name: 'log is emptied',
    act: (_, path) => truncate(`${path}-wal`),
    says: /plant-store\.db-wal was truncated/,
  },
  {
    name: 'log is cut',
    // To less than at the start: only the writer knows how it has grown since.
    act: async (_, path) => truncate(`${path}-wal`, Math.floor((await stat(`${path}-wal`)).size / 4)),
    says: /plant-store\.db-wal was truncated/,
  },
];

for (const { name, act, says } of ways) {
  for (const isIdle of [true, false]) {
    const when = isIdle ? 'while nothing is written' : 'under load';
    test(`the service ends, and says why, when its ${name} ${when}`, async (t) => {
      const { place, server, path } = await served(t);
      const sent: Sent[] = [];
      const creating = isIdle ? undefined : createUntilFailed(server, sent);
      await act(place, path);
      await creating;
      const { code, stdout, stderr } = await server.ended;
      assert.equal(code, 1);
      assert.match(stderr.trimEnd().split('\n').at(-1) ?? '', says);
      assert.equal(lines(stdout, 'while the service ran').length, 1);
      const outcomes = new Set(sent.map(({ outcome }) => outcome));
      for (const outcome of outcomes)
        assert.ok([201, 50301, 50302, 50303, 'lost'].includes(outcome), `${outcome}`);
    });
  }
}

for (const isIdle of [true, false]) {
  const when = isIdle ? 'while nothing is written' : 'under load';
  test(`the content of a log that is deleted ${when} is saved before the service ends`, async (t) => {
    const { place, server, sent, path } = await served(t);
    const creating = isIdle ? undefined : createUntilFailed(server, sent);
    await rm(`${path}-wal`);
    await creating;
    const { code, stderr } = await server.ended;
    assert.equal(code, 1);
    assert.match(stderr, /plant-store\.db-wal was deleted.*Nothing is lost/);
    await checkListed(await place.serve(), sent);
  });
}

test('a checkpoint and a vacuum by another program are not mistaken for a cut', async (t) => {
  const { server, sent, path, place } = await served(t);
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec(`CREATE TABLE large AS SELECT randomblob(1000000) AS bytes`);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  await create(server, sent, FIRST - 21);
  db.exec('DROP TABLE large');
  db.exec('VACUUM');
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  await create(server, sent, FIRST - 22);
  // Long enough for a check of the files without a write.
  await pause(1_200);
  succeeded(await server.request('GET', '/readyz'), 200);
  await server.kill();
  await checkListed(await place.serve(), sent);
});
