import assert from 'node:assert/strict';
import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { storage } from '../../../src/limits.ts';
import { silentLog } from '../../../src/runtime.ts';
import { createSnapshot } from '../../../src/store/sqlite/engine/snapshot.ts';
import { lookAtFiles, storeFiles } from '../../../src/store/sqlite/engine/store-files.ts';
import { watchStore } from '../../../src/store/sqlite/engine/watch.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';

test('a cut database is noticed at once, even when another timer always reads just before the check', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'plant-store.db');
  const db = new DatabaseSync(path);
  t.after(() => db.close());
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE plants (id)');
  const count = db.prepare('SELECT count(*) FROM plants');

  let read = () => {};
  const reading = setInterval(() => read(), storage.lookEveryMs);
  t.after(() => clearInterval(reading));
  const end = Promise.withResolvers<Error>();
  const files = storeFiles(lookAtFiles(path));
  const watch = watchStore({ path, db, files, log: silentLog, onFatal: end.resolve });
  const snapshot = createSnapshot(db, watch);
  read = () => void snapshot.read(() => count.get());
  // As after a suspension of the process: from now on both timers expire together.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * storage.lookEveryMs);
  await truncate(path, 2_048);
  using stopwatch = startWatch();
  assert.match((await end.promise).message, /plant-store\.db was truncated/);
  assert.ok(stopwatch.ms() < 2 * storage.lookEveryMs, `after ${stopwatch.ms()} ms`);
});
