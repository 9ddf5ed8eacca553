import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run, withFolder, withStoreFolder } from './program.ts';

test('a user who was made is in the list', async () => {
  await withStoreFolder(async (folder) => {
    const made = await run(['user', 'create', 'Ann Example', '--data-dir', folder]);
    assert.equal(made.code, 0);
    assert.equal(made.stdout, '');
    assert.match(made.stderr, /token create --user 'Ann Example'/);

    const { code, stdout, stderr } = await run(['user', 'list', '--json'], { DATA_DIR: folder });
    assert.equal(code, 0);
    assert.equal(stderr, '');
    const users: unknown = JSON.parse(stdout);
    assert.ok(Array.isArray(users));
    assert.equal(users.length, 1);
    assert.deepEqual(Object.keys(users[0]), ['id', 'name', 'createdAt']);
    assert.equal(users[0].name, 'Ann Example');
    assert.match(users[0].createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });
});

test('the list of users is a table without colour when nobody looks', async () => {
  await withStoreFolder(async (folder) => {
    await run(['user', 'create', 'bob', '--data-dir', folder]);
    await run(['user', 'create', '木村', '--data-dir', folder]);
    const { stdout } = await run(['user', 'list', '--data-dir', folder]);
    assert.match(stdout, /^NAME {2}CREATED\nbob {3}\d{4}-\S+Z\n木村 {2}\d{4}-\S+Z\n$/);
  });
});

test('a list without users is empty data', async () => {
  await withStoreFolder(async (folder) => {
    const table = await run(['user', 'list', '--data-dir', folder]);
    assert.deepEqual([table.code, table.stdout, table.stderr], [0, '', 'There are no users.\n']);
    const json = await run(['user', 'list', '--json', '--data-dir', folder]);
    assert.deepEqual([json.code, json.stdout, json.stderr], [0, '[]\n', '']);
  });
});

test('a name that is taken fails with 1', async () => {
  await withStoreFolder(async (folder) => {
    await run(['user', 'create', 'ann', '--data-dir', folder]);
    const again = await run(['user', 'create', 'ann', '--data-dir', folder]);
    assert.deepEqual([again.code, again.stdout], [1, '']);
    assert.equal(again.stderr, 'error: There is a user "ann" already.\n');
  });
});

test('where there is no store the verbs say so, and make none', async () => {
  await withFolder(async (parent) => {
    const folder = join(parent, 'nothing-here');
    for (const verb of [
      ['user', 'list'],
      ['user', 'create', 'ann'],
      ['token', 'list'],
      ['token', 'create', '--user', 'ann'],
      ['token', 'revoke', 'tok_x'],
    ]) {
      const { code, stdout, stderr } = await run([...verb, '--data-dir', folder]);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^error: There is no store at .*nothing-here.*--data-dir.*plant-store serve\n$/);
    }
    assert.equal(existsSync(folder), false);
  });
});
