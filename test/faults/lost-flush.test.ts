import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { createDiskFaults, type DiskFaults, whyNoFaults } from '../../bench/faults/disk-faults.ts';
import { storePath } from '../../src/config/config.ts';
import { checkListed, createUntilFailed, type Sent } from '../../testkit/processes/creates.ts';
import { leftBehind } from '../../testkit/processes/left-behind.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import { launch, type Outcome, outcomeOf } from '../../testkit/processes/program.ts';

/**
 * After a failed flush a kernel treats the pages as clean, and a power failure loses them. Simulating that needs a
 * failing block device: `bench/faults/lost-flush.ts`. These tests check the service's countermeasure.
 */

const skip = whyNoFaults();

/** A store with plants in its log only. */
const withLogOnly = await leftBehind(async (place) => {
  const server = await place.serve();
  const sent: Sent[] = [];
  let created = 0;
  await createUntilFailed(server, sent, () => {
    if (++created === 100) server.signal('SIGKILL');
  });
  await server.ended;
  return sent;
});

for (const [what, op] of [
  ['written', 'write'],
  ['flushed', 'fsync'],
] as const) {
  test(`a log that cannot be ${what} again keeps the service from starting, and is not changed`, {
    skip,
  }, async (t) => {
    const { place, faults, sent } = await killedStore(t);
    const before = await filesOf(place);
    faults.arm({ op, file: 'log', count: Infinity });
    failedAtLog(await place.serveInVain({ env: faults.env(place.dataDir) }), place);
    assert.deepEqual(await filesOf(place), before);

    faults.disarm();
    await checkListed(await place.serve({ env: faults.env(place.dataDir) }), sent);
  });
}

test('a verb makes the log of a killed server durable before it uses the store', { skip }, async (t) => {
  const { place, faults } = await killedStore(t);
  const before = await filesOf(place);
  faults.arm({ op: 'fsync', file: 'log', count: Infinity });
  failedAtLog(await userList(place, faults), place);
  assert.deepEqual(await filesOf(place), before);

  faults.disarm();
  assert.equal((await userList(place, faults)).code, 0);
});

test('a verb leaves the log to a running server', { skip }, async (t) => {
  const place = await makePlace(t);
  const faults = createDiskFaults(place.folder);
  const server = await place.serve();
  await server.request('POST', '/plants', { body: { name: 'Alder' } });
  faults.arm({ op: 'write', file: 'log', count: Infinity });
  const { code, stderr } = await userList(place, faults);
  assert.equal(code, 0, stderr);
  assert.equal(faults.fired(), 0);
});

async function killedStore(t: TestContext) {
  const { place, made: sent } = await withLogOnly(t);
  return { place, sent, faults: createDiskFaults(place.folder) };
}

function userList({ dataDir }: Place, faults: DiskFaults): Promise<Outcome> {
  return outcomeOf(launch(['user', 'list', '--data-dir', dataDir], faults.env(dataDir)));
}

function failedAtLog({ code, stderr }: Outcome, { dataDir }: Place): void {
  assert.equal(code, 1);
  assert.match(stderr, /^error: [^\n]+\n$/);
  assert.ok(stderr.includes(`${storePath(dataDir)}-wal`), stderr);
  assert.ok(stderr.includes('EIO'), stderr);
}

async function filesOf({ dataDir }: Place): Promise<string[]> {
  const path = storePath(dataDir);
  const files = await Promise.all([readFile(path), readFile(`${path}-wal`)]);
  return files.map((bytes) => bytes.toString('hex'));
}
