import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkListed, createUntilFailed, type Sent } from '../../testkit/processes/creates.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import type { Server } from '../../testkit/processes/server.ts';
import { type Answer, failed, succeeded } from '../../testkit/service/answer.ts';

/**
 * Limits files to 600 blocks (of 512 or 1024 bytes, depending on the shell): the store fits, but its write-ahead log
 * soon does not. Node ignores the accompanying signal, so the write fails, which SQLite reports as an I/O error.
 */
const SMALL_FILES = ['sh', '-c', 'ulimit -f 600; exec "$@"', 'sh'];

test('a commit that fails with an I/O error gets 50301 and ends the process with 1; the next start has everything acknowledged, and works', async (t) => {
  const place = await makePlace(t);
  const { sent, ended } = await createUntilDiskFails(place);
  const { code, stderr } = await ended;
  assert.equal(code, 1);
  assert.match(stderr, /\nerror: [^\n]*outcome is unknown[^\n]*\n$/);
  const outcomes = new Set(sent.map(({ outcome }) => outcome));
  assert.ok(outcomes.has(50301), `answers: ${[...outcomes]}`);
  const server = await place.serve();
  await checkListed(server, sent);
  succeeded(await server.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
});

test('on a full disk creates get 50302 and do nothing, reads continue, and with space again creates succeed', async (t) => {
  const place = await makePlace(t);
  await onSmallDisk(t, place.dataDir, async () => {
    const server = await place.serve();
    const ballast = await fillDisk(place.dataDir);
    const sent: Sent[] = [];
    await createUntilFailed(server, sent);
    const refused = sent.filter(({ outcome }) => outcome !== 201);
    assert.ok(refused.length > 0 && refused.every(({ outcome }) => outcome === 50302));

    await checkListed(server, sent);
    const answer = await createUntilRefused(server, sent);
    failed(answer, 50302, /nothing was done/);
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);

    await rm(ballast);
    succeeded(await server.request('POST', '/plants', { body: { id: -1, name: 'Birch' } }), 201);
    await server.kill();
    await checkListed(await place.serve(), [...sent, { name: 'Birch', id: -1, outcome: 201 }]);
  });
});

/** A checkpoint may have freed space for a few more. */
async function createUntilRefused(server: Server, sent: Sent[]): Promise<Answer> {
  for (let id = -1_000_000_000; ; id--) {
    // Unique.
    const plant = { id, name: `${'Alder '.repeat(30)}${id}` };
    const answer = await server.request('POST', '/plants', { body: plant });
    if (answer.status !== 201) return answer;
    sent.push({ ...plant, outcome: 201 });
  }
}

async function createUntilDiskFails(place: Place) {
  // Creates the schema without a limit.
  await place.prepare();
  const server = await place.serve({ through: SMALL_FILES });
  const sent: Sent[] = [];
  await createUntilFailed(server, sent);
  return { sent, ended: server.ended };
}

/** Runs the work with a file system of 2 MiB in place of the folder; skips the test where mounting is forbidden. */
async function onSmallDisk(t: TestContext, folder: string, work: () => Promise<void>): Promise<void> {
  await mkdir(folder);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'tmpfs', folder]);
  if (mounted.status !== 0) return t.skip('this user may not mount a small file system');
  try {
    await work();
  } finally {
    // Lazily, since the server ends only later.
    spawnSync('umount', ['--lazy', folder]);
  }
}

/** Leaves space for some creates. Returns the path of the file that fills the rest. */
async function fillDisk(folder: string): Promise<string> {
  const { bavail, bsize } = await statfs(folder);
  const ballast = join(folder, 'ballast');
  await writeFile(ballast, Buffer.alloc(bavail * bsize - 256 * 1024));
  return ballast;
}
