import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEmbeddedStore } from '../../../src/cli/service/embedded-store.ts';
import { sqliteWords, storeFailure } from '../../../src/cli/service/store-failure.ts';
import { servingLock, storePath } from '../../../src/config/config.ts';
import { lockForServing } from '../../../src/store/sqlite/files/lock.ts';
import { makeFirstVersion } from '../../../testkit/processes/backed-up-store.ts';
import { withFolder } from '../../../testkit/processes/program.ts';

test('a disk without room for the -shm file is reported as full, not as broken', () => {
  const error = Object.assign(new Error('disk I/O error'), { errcode: 4874 });
  assert.deepEqual(sqliteWords(error), ['the disk is full', 'Free up space.']);
  const failure = storeFailure(error, '/data');
  assert.ok(failure instanceof Error);
  assert.match(
    failure.message,
    /: the disk is full \(ENOSPC, SQLite 4874: disk I\/O error\)\. Free up space\.$/,
  );
});

test('a verb beside a program that is migrating the store says to wait', async () => {
  await withFolder(async (folder) => {
    makeFirstVersion(storePath(folder));
    using _migrating = lockForServing(servingLock(folder));
    await assert.rejects(
      openEmbeddedStore(folder, { now: () => 0 }),
      /must be migrated, but a server or another command is using it\. If that is migrating it, wait; /,
    );
  });
});
