import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { rename, rm, truncate, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { storePath } from '../../src/config/config.ts';
import { leftBehind } from '../../testkit/processes/left-behind.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import { type Outcome, run } from '../../testkit/processes/program.ts';
import { succeeded } from '../../testkit/service/answer.ts';

const killedStore = await leftBehind(async (place) => {
  const server = await place.serve();
  succeeded(await server.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
  await server.kill();
});

for (const [state, lose] of [
  ['missing', (path: string, kept: string) => rename(path, kept)],
  [
    'empty',
    async (path: string, kept: string) => {
      await writeFile(kept, readFileSync(path));
      await truncate(path, 0);
    },
  ],
] as const) {
  test(`no verb recreates a database that is ${state} next to its log`, async (t) => {
    const { place } = await killedStore(t);
    const path = storePath(place.dataDir);
    const kept = `${place.folder}/kept.db`;
    await lose(path, kept);
    const before = filesOf(place);
    const outcomes = [
      await place.serveInVain(),
      await place.command('user', 'list'),
      await place.command('backup', `${place.folder}/backup`),
      await run(['copy', '--from', `sqlite:${place.dataDir}`, '--to', 'postgres://127.0.0.1:1/none']),
    ];
    for (const outcome of outcomes) refused(outcome, place, state);
    const { code, stdout } = await place.command('doctor');
    assert.equal(code, 1);
    assert.ok(stdout.includes(`${path}-wal`), stdout);
    assert.deepEqual(filesOf(place), before);

    if (state === 'missing') await rename(kept, path);
    else await writeFile(path, readFileSync(kept));
    const server = await place.serve();
    assert.deepEqual(await namesIn(server), ['Alder']);
  });

  test(`a backup is restored where the database is ${state}, and the log is kept next to it`, async (t) => {
    const { place } = await killedStore(t);
    const backup = `${place.folder}/backup`;
    assert.equal((await place.command('backup', backup)).code, 0);
    const server = await place.serve();
    await server.request('POST', '/plants', { body: { name: 'Birch' } });
    await server.kill();
    const log = readFileSync(`${storePath(place.dataDir)}-wal`);
    await lose(storePath(place.dataDir), `${place.folder}/kept.db`);

    const { code, stdout, stderr } = await place.command('restore', backup, '--json');
    assert.equal(code, 0, stderr);
    assert.deepEqual(readFileSync(`${JSON.parse(stdout).before}-wal`), log);
    assert.deepEqual(await namesIn(await place.serve()), ['Alder']);
  });
}

test('creating a store is logged once, as a warning where a server has run before', async (t) => {
  const place = await makePlace(t);
  assert.deepEqual(await madeAt(place), [INFO]);
  assert.deepEqual(await madeAt(place), []);
  await rm(storePath(place.dataDir));
  assert.deepEqual(await madeAt(place), [WARN]);
});

const [INFO, WARN] = [30, 40];

/** The log levels at which a start, up to a clean stop, reports creating the store. */
async function madeAt(place: Place): Promise<number[]> {
  const { stdout } = await (await place.serve({ env: { LOG_FORMAT: 'json' } })).stop();
  const lines = stdout.split('\n').filter((line) => line !== '');
  const made = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith('created a new'));
  for (const { path } of made) assert.equal(path, storePath(place.dataDir));
  return made.map(({ level }) => level);
}

function refused({ code, stdout, stderr }: Outcome, { dataDir }: Place, state: string): void {
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^error: [^\n]+\n$/);
  assert.ok(stderr.includes(`The database ${storePath(dataDir)} is ${state}`), stderr);
  assert.ok(stderr.includes(`${storePath(dataDir)}-wal`), stderr);
}

/** All files except the lock. */
function filesOf({ dataDir }: Place): [string, string][] {
  const names = readdirSync(dataDir).filter((name) => !name.startsWith('serving.lock'));
  return names.map((name) => [name, readFileSync(`${dataDir}/${name}`).toString('hex')]);
}

async function namesIn(server: Awaited<ReturnType<Place['serve']>>): Promise<string[]> {
  const listed = succeeded(await server.request('GET', '/plants?fields=name'), 200);
  return (listed as { name: string }[]).map(({ name }) => name);
}
