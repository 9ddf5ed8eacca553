import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import {
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { storePath } from '../../../src/config/config.ts';
import { openUnfinishedStore } from '../../../src/store/sqlite/engine/unfinished-stores.ts';
import { lockForServing } from '../../../src/store/sqlite/files/lock.ts';
import { restoreStore } from '../../../src/store/sqlite/files/restore.ts';
import {
  addPlants,
  leftIn,
  plantsIn,
  restore,
  withBackup,
} from '../../../testkit/processes/backed-up-store.ts';
import { killOnce, launch, outcomeOf, untilGreeted, withFolder } from '../../../testkit/processes/program.ts';
import { failureOf, wordsOf } from '../../../testkit/processes/remote.ts';

test('a refused restore leaves no folder and no file', async () => {
  await withBackup(async (folder, file) => {
    const outer = join(folder, '..', 'outer');
    await truncate(file, 40_960);
    failureOf(await restore(join(outer, 'inner', 'data'), file));
    await assert.rejects(stat(outer), { code: 'ENOENT' });
    await mkdir(outer);
    failureOf(await restore(outer, file));
    assert.deepEqual(await readdir(outer), []);
    failureOf(await restore(folder, file));
    assert.deepEqual(await readdir(folder), ['plant-store.db']);
    // Existing files stay.
    await writeFile(join(outer, 'serving.lock'), '');
    failureOf(await restore(join(outer, 'data'), file));
    failureOf(await restore(outer, file));
    assert.deepEqual(await readdir(outer), ['serving.lock']);
  });
});

test('a process waiting for a lock gets it even when the lock file is removed', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'serving.lock');
    const lock = lockForServing(path);
    const waiting = launch(['serve', '--port', '0'], { DATA_DIR: folder });
    const ended = outcomeOf(waiting);
    await untilOpen(waiting, path);
    await rm(path);
    lock[Symbol.dispose]();
    await untilGreeted(waiting, ended);
    assert.throws(() => lockForServing(path), /Another plant-store server is running/);
    waiting.kill('SIGTERM');
    await ended;
  });
});

/** Resolves once a process has opened a file. */
async function untilOpen({ pid }: { pid?: number | undefined }, path: string): Promise<void> {
  const folder = `/proc/${pid}/fd`;
  for (;;) {
    const names = await readdir(folder);
    const links = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')));
    if (links.includes(path)) return;
    await pause(1);
  }
}

test('an interrupted restore leaves nothing', async () => {
  await withBackup(async (folder, file) => {
    const whole = join(dirname(file), 'whole');
    await mkdir(whole);
    await copyFile(storePath(folder), storePath(whole));
    addPlants(whole, 300_000);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const child = launch(['restore', storePath(whole), '--data-dir', folder]);
      const ended = outcomeOf(child);
      while ((await leftIn(folder)).length === 0) await pause(1);
      child.kill(signal);
      assert.equal((await ended).signal, signal);
      assert.deepEqual(await leftIn(folder), []);
    }
    assert.equal(plantsIn(storePath(folder)), 5);
  });
});

function restoreFrom(file: string, path: string, now: number) {
  const unfinished = openUnfinishedStore(`${path}.restoring-`);
  return restoreStore({ from: file, path, unfinished, now, report: { copied() {}, checks() {} } });
}

test('restores within one second, or after a killed one, keep each store under its own name', async () => {
  await withBackup(async (folder, file) => {
    const now = Date.now();
    const restoreNow = () => restoreFrom(file, storePath(folder), now);
    const { before = '' } = await restoreNow();
    const kept = [before];
    for (let n = 0; n < 3; n++) {
      const db = new DatabaseSync(storePath(folder));
      db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 1');
      // What a restore leaves that was killed while it folded the log in.
      await copyFile(`${storePath(folder)}-wal`, `${before}-2-wal`);
      await copyFile(`${storePath(folder)}-wal`, join(folder, 'log'));
      db.close();
      await rename(join(folder, 'log'), `${storePath(folder)}-wal`);
      kept.push((await restoreNow()).before ?? '');
    }
    assert.equal(new Set(kept).size, 4);
    for (const name of kept) assert.ok(plantsIn(name) > 0);
    assert.deepEqual((await leftIn(folder)).toSorted(), kept.map((name) => basename(name)).toSorted());
  });
});

test('restores after one that was killed keep a damaged store together with its log', async () => {
  await withBackup(async (folder, file) => {
    const path = storePath(folder);
    await withLongLog(path);
    const log = await readFile(`${path}-wal`);
    // What it leaves when it is killed right before it replaces the store.
    const kept = `${path}.before-restore-20261121T120000Z`;
    await rename(`${path}-wal`, `${kept}-wal`);
    await writeFile(path, 'damaged'.repeat(2_000));
    await link(path, kept);
    for (let n = 0; n < 2; n++) {
      const { before } = await restoreFrom(file, path, Date.now() + n * 1_000);
      assert.equal(before === kept, n === 0);
    }
    assert.equal(await readFile(kept, 'utf8'), 'damaged'.repeat(2_000));
    assert.deepEqual(await readFile(`${kept}-wal`), log);
    assert.equal(plantsIn(path), 2);
  });
});

const STORE_BEFORE = /\.before-restore-\d{8}T\d{6}Z(?:-\d)?$/;

/** The stages at which to kill a restore, by the files in the folder. */
const STAGES: readonly (readonly [what: string, isReached: (names: string[], path: string) => boolean])[] = [
  ['it has a draft', (names) => names.some((name) => name.includes('.restoring'))],
  ['it copies', (_, path) => draftsOf(path).some((names) => names.includes('store'))],
  ['it keeps the log', (names) => names.some((name) => /before-restore-\d+T\d+Z(?:-\d)?-wal$/.test(name))],
  ['it keeps the store', (names) => names.some((name) => STORE_BEFORE.test(name))],
];

/** The files in the folders where restores work. */
function draftsOf(path: string): string[][] {
  const drafts = readdirSync(dirname(path)).filter((name) => name.includes('.restoring-'));
  return drafts.map((name) => {
    try {
      return readdirSync(join(dirname(path), name));
    } catch {
      return [];
    }
  });
}

for (const [what, isReached] of STAGES) {
  test(`the next restore removes what one left that was killed when ${what}`, async () => {
    await withBackup(async (folder, file) => {
      const path = storePath(folder);
      await withLongLog(path);
      for (let tries = 1; !(await isKilledWhen(isReached, [folder, file])); tries++) {
        assert.ok(tries < 5, 'it always ends too soon');
        const [before = ''] = await leftIn(folder);
        await rename(join(folder, before), path);
        await withLongLog(path);
      }

      assert.ok([2, 5].includes(plantsIn(path)), 'the old store or the new one, complete');
      wordsOf(await restore(folder, file, '--quiet'));
      assert.equal(plantsIn(path), 2);
      const left = await leftIn(folder);
      // Killed after its last step, it has replaced the store, which is then kept as well.
      assert.ok(left.length === 1 || left.length === 2, left.join());
      assert.ok(
        left.every((name) => STORE_BEFORE.test(name)),
        left.join(),
      );
      assert.deepEqual(
        left.map((name) => plantsIn(join(folder, name))).toSorted(),
        [2, 5].slice(-left.length),
      );
      assert.deepEqual(await readdir(dirname(file)), ['data', 'plants.backup']);
    });
  });
}

test('the log of a lost database survives every restore', async () => {
  await withBackup(async (folder, file) => {
    const path = storePath(folder);
    await rm(path);
    await writeFile(`${path}-wal`, 'a log');
    const { before = '' } = await restoreFrom(file, path, 0);
    await restoreFrom(file, path, 1_000);
    assert.equal((await stat(before)).size, 0);
    assert.equal(await readFile(`${before}-wal`, 'utf8'), 'a log');
  });
});

test('there is a store at every instant of a restore', async () => {
  await withBackup(async (folder, file) => {
    const path = storePath(folder);
    await withLongLog(path);
    const stores = new Set<number>();
    const ended = await killOnce(launch(['restore', file, '--data-dir', folder]), () => {
      stores.add(statSync(path).ino);
      return false;
    });
    assert.equal(ended.code, 0, ended.stderr);
    stores.add(statSync(path).ino);
    assert.equal(stores.size, 2, 'the old one and the new one');
    assert.equal(plantsIn(path), 2);
  });
});

/** Kills a restore. Resolves with false when it ended too soon. */
async function isKilledWhen(
  isReached: (names: string[], path: string) => boolean,
  [folder, file]: [folder: string, file: string],
): Promise<boolean> {
  const child = launch(['restore', file, '--data-dir', folder]);
  const { signal } = await killOnce(child, () => isReached(readdirSync(folder), storePath(folder)));
  return signal === 'SIGKILL';
}

/** Gives a store a long log, as a killed service leaves it. */
async function withLongLog(path: string): Promise<void> {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0');
  db.exec(`CREATE TABLE padding (bytes BLOB) STRICT`);
  for (let n = 0; n < 40; n++) db.exec('INSERT INTO padding VALUES (randomblob(1000000))');
  db.exec('DROP TABLE padding');
  await copyFile(`${path}-wal`, `${path}-log`);
  db.close();
  await rename(`${path}-log`, `${path}-wal`);
}
