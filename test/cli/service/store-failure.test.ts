import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sqliteWords, storeFailure } from '../../../src/cli/service/store-failure.ts';

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
