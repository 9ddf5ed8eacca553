import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createDiskFaults, whyNoFaults } from '../../bench/faults/disk-faults.ts';
import { storePath } from '../../src/config/config.ts';
import { keepSizeRecord } from '../../src/store/sqlite/engine/size-record.ts';
import { lookAtFiles } from '../../src/store/sqlite/engine/store-files.ts';
import { leftBehind } from '../../testkit/processes/left-behind.ts';
import { WITHOUT_CAPABILITIES, whyNoPermissions } from '../../testkit/processes/permissions.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import { type Outcome, run } from '../../testkit/processes/program.ts';
import type { ServeOptions } from '../../testkit/processes/server.ts';

/** What a start with unusable files reports: the file, the error code, and advice. */

const NAMES = { database: 'plant-store.db', log: 'plant-store.db-wal', index: 'plant-store.db-shm' } as const;

const MAY_NOT_MOUNT = 'this user may not mount such a file system';

/** Makes the data folder with a file system of its own; false if this user may not. */
function mounted({ dataDir }: Place, options: readonly string[]): boolean {
  mkdirSync(dataDir);
  return spawnSync('mount', [...options, dataDir]).status === 0;
}

const killedStore = await leftBehind(async (place) => {
  const server = await place.serve();
  await server.request('POST', '/plants', { body: { name: 'Alder' } });
  await server.kill();
});
const stoppedStore = await leftBehind(async (place) => {
  await (await place.serve()).stop();
});

for (const [what, name] of [...Object.entries(NAMES), ['lock', 'serving.lock']] as const) {
  for (const mode of [0o000, 0o400]) {
    const state = mode === 0 ? 'unreadable' : 'read-only';
    test(`a start on a ${what} that is ${state} says so`, { skip: whyNoPermissions }, async (t) => {
      const { place } = await killedStore(t);
      const path = join(place.dataDir, name);
      chmodSync(path, mode);
      const outcome = await place.serveInVain({ through: WITHOUT_CAPABILITIES });
      saysWhy(outcome, path, 'EACCES', /Run it as the owner/);
      chmodSync(path, 0o600);
      await (await place.serve()).stop();
    });
  }
}

test('a start on a read-only file system says so, and a restore, and doctor how to mend it, with a store and without one', async (t) => {
  const place = await makePlace(t);
  if (!mounted(place, ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs'])) return t.skip(MAY_NOT_MOUNT);
  try {
    await (await place.serve()).kill();
    spawnSync('mount', ['-o', 'remount,ro', place.dataDir]);
    saysWhy(await place.serveInVain(), place.dataDir, 'EROFS', /Mount it for writing/);
    const missing = { env: { DATA_DIR: join(place.dataDir, 'none', 'here') } };
    saysWhy(await place.serveInVain(missing), missing.env.DATA_DIR, 'EROFS', /Mount it for writing/);
    const { stdout } = await run(['doctor'], { DATA_DIR: place.dataDir });
    assert.match(stdout, /Mount it for writing/);
    const backup = join(place.folder, 'plants.backup');
    writeFileSync(backup, '');
    const restored = await run(['restore', backup], missing.env);
    saysWhy(restored, missing.env.DATA_DIR, 'EROFS', /Mount it for writing/);
  } finally {
    spawnSync('umount', ['--lazy', place.dataDir]);
  }
});

test('a record of sizes that does not fit on the disk stops nothing', async (t) => {
  const { place } = await killedStore(t);
  const path = storePath(place.dataDir);
  const record = keepSizeRecord(join(place.dataDir, 'no-such-folder', 'plant-store.db'));
  record.note(lookAtFiles(path));
  record.end();
});

test('a start on a full disk says so', async (t) => {
  const place = await makePlace(t);
  if (!mounted(place, ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs'])) return t.skip(MAY_NOT_MOUNT);
  try {
    saysWhy(await place.serveInVain(), place.dataDir, 'ENOSPC', /Free up space/);
  } finally {
    spawnSync('umount', ['--lazy', place.dataDir]);
  }
});

test('a start on a disk without a free inode says how to tell', async (t) => {
  const place = await makePlace(t);
  if (!mounted(place, ['-t', 'tmpfs', '-o', 'size=8m,nr_inodes=1', 'tmpfs'])) return t.skip(MAY_NOT_MOUNT);
  try {
    saysWhy(await place.serveInVain(), place.dataDir, 'ENOSPC', /Free up space; .*df -i/);
  } finally {
    spawnSync('umount', ['--lazy', place.dataDir]);
  }
});

test('a start on a full disk with blocks of less than 4 KiB says so', async (t) => {
  const place = await makePlace(t);
  const image = join(place.folder, 'image');
  writeFileSync(image, '');
  truncateSync(image, 8 * 1024 * 1024);
  const isMade = spawnSync('mkfs.ext4', ['-q', '-m', '0', '-b', '1024', image]).status === 0;
  if (!isMade || !mounted(place, ['-o', 'loop', image])) return t.skip(MAY_NOT_MOUNT);
  try {
    await (await place.serve()).kill();
    const index = join(place.dataDir, NAMES.index);
    rmSync(index);
    const { bavail, bsize } = statfsSync(place.dataDir);
    const ballast = join(place.dataDir, 'ballast');
    // SQLite would reserve 8 KiB of the 32.
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - 16 * 1024));
    saysWhy(await place.serveInVain(), index, 'ENOSPC', /Free up space/);
    rmSync(ballast);
    assert.equal((await (await place.serve()).stop()).code, 0);
  } finally {
    spawnSync('umount', ['--lazy', place.dataDir]);
  }
});

test('a start whose first commit finds the disk full says so', { skip: whyNoFaults() }, async (t) => {
  const { place } = await stoppedStore(t);
  const faults = createDiskFaults(place.folder);
  faults.arm({ op: 'write', file: 'log', count: Infinity, error: 'ENOSPC' });
  const { code, stderr } = await place.serveInVain({
    env: { ...faults.env(place.dataDir), BOOTSTRAP_TOKEN: 'another-token-of-32-characters-or-more' },
  });
  saysWhy({ code, stderr, signal: null, stdout: '' }, storePath(place.dataDir), 'ENOSPC', /Free up space/);
});

test('a start on a disk that cannot be read says so', { skip: whyNoFaults() }, async (t) => {
  const { place } = await killedStore(t);
  const faults = createDiskFaults(place.folder);
  const options: ServeOptions = { env: faults.env(place.dataDir) };
  faults.arm({ op: 'read', file: 'database', count: Infinity });
  const said = /disk reports an error \(EIO, SQLite \d+: .*\)\. Check the system's log/;
  saysWhy(await place.serveInVain(options), storePath(place.dataDir), 'EIO', said);
  faults.disarm();
  await (await place.serve(options)).stop();
});

for (const [state, damage, code] of [
  ['cut short', (path: string) => truncateSync(path, Math.floor(statSync(path).size / 8192) * 4096), 11],
  ['cut in its header', (path: string) => truncateSync(path, 50), 11],
  ['another kind of file', (path: string) => writeFileSync(path, 'a letter'), 26],
] as const) {
  test(`a start on a database that is ${state} says what to do`, async (t) => {
    const { place } = await stoppedStore(t);
    const path = storePath(place.dataDir);
    damage(path);
    saysWhy(await place.serveInVain(), path, `SQLite ${code}`, /plant-store restore FILE/);
  });
}

for (const [what, name] of [
  ['another program', 'bookmarks'],
  ['another program with migrations of its own', 'migrations'],
]) {
  test(`a start on a database of ${what} says so, and leaves it unchanged`, async (t) => {
    const place = await makePlace(t);
    mkdirSync(place.dataDir);
    place.write(`CREATE TABLE ${name} (id INTEGER, batch INTEGER)`);
    const { code, stderr } = await place.serveInVain();
    assert.equal(code, 1);
    assert.match(stderr, /^error: \S+plant-store\.db is a database of another program[^\n]+\n$/);
    assert.deepEqual(place.read('SELECT name FROM sqlite_schema'), [{ name }]);
  });
}

test('a start on a folder in place of a file of the store says so', async (t) => {
  for (const name of [NAMES.database, NAMES.log]) {
    const { place } = await stoppedStore(t);
    const path = join(place.dataDir, name);
    rmSync(path, { force: true });
    mkdirSync(path);
    saysWhy(await place.serveInVain(), path, 'EISDIR', /Move it away/);
  }
});

function saysWhy({ code, stdout, stderr }: Outcome, path: string, reason: string, advice: RegExp): void {
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^error: [^\n]+\.\n$/);
  for (const part of [path, reason]) assert.ok(stderr.includes(part), stderr);
  assert.match(stderr, advice);
}
