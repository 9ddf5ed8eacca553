import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createSnapshot } from '../../../src/store/sqlite/engine/snapshot.ts';
import { createVersions, versionReads, versionWrites } from '../../../src/store/sqlite/plants/versions.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { AT, given } from '../../../testkit/stores/given.ts';

const makeFolder = () => mkdtempSync(join(tmpdir(), 'plant-store-'));

/** A store, its stamps, and a process of its own that writes to the same file. */
async function storeWithNeighbour(t: TestContext) {
  const folder = makeFolder();
  const path = join(folder, 'plant-store.db');
  const store = await openSqliteStore({
    path,
    writer: 'thread',
    clock: { now: Date.now },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  const neighbour = spawn(process.execPath, ['-e', NEIGHBOUR, path], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  t.after(async () => {
    neighbour.kill();
    await store.close();
    rmSync(folder, { recursive: true });
  });
  const stamp = async (viewer: number) => {
    // Reads in one turn of the event loop share a snapshot.
    await setImmediate();
    return store.plants.stamp?.(viewer) ?? assert.fail('the store has no stamps');
  };
  return { ...given(store), stamp, writeBeside: (sql: string) => run(neighbour, sql) };
}

const NEIGHBOUR = `
  const db = new (require('node:sqlite').DatabaseSync)(process.argv[1], { timeout: 5000 });
  process.on('message', (sql) => { db.exec(sql); process.send('done'); });`;

async function run(neighbour: ChildProcess, sql: string): Promise<void> {
  neighbour.send(sql);
  await once(neighbour, 'message');
}

test('a write changes the stamps of those who see it, and no others', async (t) => {
  const { store, user, create, stamp } = await storeWithNeighbour(t);
  const [owner, viewer, stranger] = [await user(), await user(), await user()];
  await store.access.addShare({ owner: owner.name, viewer: viewer.name, at: AT }, 9);
  const people = [owner, viewer, stranger];
  const stamps = () => Promise.all(people.map(({ id }) => stamp(id)));
  const changedBy = async (write: () => Promise<unknown>) => {
    const before = await stamps();
    await write();
    return (await stamps()).map((now, i) => now !== before[i]);
  };
  // The writer's first commit tells the length of the log.
  await create(stranger.id);
  await stamps();
  assert.deepEqual(await changedBy(async () => {}), [false, false, false]);
  assert.deepEqual(await changedBy(() => create(owner.id, 7n)), [true, true, false]);
  assert.deepEqual(await changedBy(() => store.plants.delete(owner.id, 7n)), [true, true, false]);
  assert.deepEqual(await changedBy(() => store.plants.delete(owner.id, 7n)), [false, false, false]);
  assert.deepEqual(await changedBy(() => create(viewer.id)), [false, true, false]);
  const share = { owner: owner.name, viewer: viewer.name };
  assert.deepEqual(await changedBy(() => store.access.removeShare(share)), [true, true, true]);
});

test('a write of another process changes every stamp, wherever it falls between our own', async (t) => {
  const { user, create, stamp, writeBeside } = await storeWithNeighbour(t);
  const [reader, busy] = [await user(), await user()];
  let id = 0;
  const beside = () =>
    writeBeside(`INSERT INTO plants (owner, id, name, created_at) VALUES (${reader.id}, ${++id}, 'x', 0)`);
  const own = () => create(busy.id);
  const seen = new Set([await stamp(reader.id)]);
  for (let round = 0; round < 20; round++) {
    for (const writes of [[beside], [own, beside], [beside, own], [own, beside, own], [own, own, beside]]) {
      for (const write of writes) await write();
      const now = await stamp(reader.id);
      assert.ok(!seen.has(now), `round ${round}: ${writes.map(({ name }) => name)}`);
      seen.add(now);
    }
  }
});

/** A file with a writing and a reading connection, and their versions. */
function connections(t: TestContext) {
  const folder = makeFolder();
  const path = join(folder, 'plant-store.db');
  const [writing, reading] = [new DatabaseSync(path), new DatabaseSync(path)];
  t.after(() => {
    snapshot.end();
    writing.close();
    reading.close();
    rmSync(folder, { recursive: true });
  });
  writing.exec('PRAGMA journal_mode = WAL; CREATE TABLE plants (id INTEGER)');
  const versions = createVersions();
  const writes = versionWrites(writing, versions);
  const snapshot = createSnapshot(reading, { readFailed: (error) => error });
  const visible = { of: (viewer: number) => [viewer], stretches: () => [] };
  const stamp = versionReads(reading, { snapshot, epoch: () => 1, visible, versions });
  const logPages = () => Number(writing.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.log);
  return { path, writing, reading, writes, snapshot, stamp, logPages };
}

test('a commit of another process right after our own changes every stamp', (t) => {
  const { path, writing, writes, snapshot, stamp, logPages } = connections(t);
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  /** Commits a change of the plants of owner 1. */
  function commit(meanwhile = () => {}): void {
    writing.exec('BEGIN IMMEDIATE');
    writes.begin();
    writes.touch(1);
    writing.exec('INSERT INTO plants VALUES (1)');
    writes.around(() => {
      writing.exec('COMMIT');
      meanwhile();
      return logPages();
    });
    snapshot.end();
  }
  commit();
  const before = stamp(2);
  commit();
  assert.equal(stamp(2), before);
  commit(() => other.exec('INSERT INTO plants VALUES (2)'));
  assert.notEqual(stamp(2), before);
});

test('between a COMMIT and its end a list of its owners is used only within its snapshot', (t) => {
  const { writing, writes, snapshot, stamp, logPages } = connections(t);
  const stampNow = (viewer: number) => {
    snapshot.end();
    return stamp(viewer);
  };
  const before = stampNow(1);
  const seen = new Set([before]);
  /** Whether a new snapshot has a stamp that nobody had before. */
  const isNew = (): boolean => {
    const now = stampNow(1);
    const isKnown = seen.has(now);
    seen.add(now);
    return !isKnown;
  };
  writing.exec('BEGIN IMMEDIATE');
  writes.begin();
  writes.touch(1);
  writing.exec('INSERT INTO plants VALUES (1)');
  assert.equal(stampNow(1), before);
  writes.around(() => {
    assert.ok(isNew());
    assert.equal(stamp(1), stamp(1));
    writing.exec('COMMIT');
    assert.ok(isNew());
    assert.ok(isNew());
    assert.equal(stampNow(2), stampNow(2));
    return logPages();
  });
  assert.ok(isNew());
  assert.equal(stampNow(1), stampNow(1));
  writing.exec('BEGIN IMMEDIATE');
  writes.begin();
  writes.touch(1);
  assert.throws(() =>
    writes.around(() => {
      throw new Error('the commit failed');
    }),
  );
  assert.equal(stampNow(1), stampNow(1));
});

test('a read after a stamp is at least as new as the stamp, also when another viewer has an equal one', (t) => {
  const { writing, reading, writes, snapshot, stamp, logPages } = connections(t);
  const addPlant = (owner: number) => {
    writing.exec('BEGIN IMMEDIATE');
    writes.begin();
    writes.touch(owner);
    writing.exec('INSERT INTO plants VALUES (1)');
    writes.around(() => {
      writing.exec('COMMIT');
      return logPages();
    });
  };
  const count = reading.prepare('SELECT count(*) AS plants FROM plants');
  const read = (viewer: number) => {
    const before = stamp(viewer, true);
    return { before, plants: snapshot.read(() => Number(count.get()?.plants)) };
  };
  addPlant(1);
  const first = read(1);
  assert.equal(first.plants, 1);
  addPlant(2);
  assert.deepEqual(read(2), { before: first.before, plants: 2 });
});
