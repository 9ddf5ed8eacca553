import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { storePath } from '../../../src/config/config.ts';
import { launch, outcomeOf, run, withFolder, withStoreFolder } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { deliveriesTo } from '../../../testkit/stores/deliveries.ts';

test('a created user is in the list', async () => {
  await withStoreFolder(async (folder) => {
    const made = await run(['user', 'create', 'Ann Example', '--data-dir', folder]);
    assert.equal(made.code, 0);
    assert.equal(made.stdout, '');
    assert.ok(made.stderr.endsWith(`token create --user 'Ann Example' --data-dir ${folder}\n`), made.stderr);

    const { code, stdout, stderr } = await run(['user', 'list', '--json'], { DATA_DIR: folder });
    assert.equal(code, 0);
    assert.equal(stderr, '');
    const users: unknown = JSON.parse(stdout);
    assert.ok(Array.isArray(users));
    assert.equal(users.length, 1);
    assert.deepEqual(Object.keys(users[0]), ['id', 'name', 'createdAt', 'disabledAt']);
    assert.equal(users[0].name, 'Ann Example');
    assert.equal(users[0].disabledAt, null);
    assert.match(users[0].createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });
});

test('the list of users is a table without colour when it is not on a terminal', async () => {
  await withStoreFolder(async (folder) => {
    await run(['user', 'create', 'bob', '--data-dir', folder]);
    await run(['user', 'create', '木村', '--data-dir', folder]);
    const { stdout } = await run(['user', 'list', '--data-dir', folder]);
    assert.match(
      stdout,
      /^NAME {2}STATUS {3}CREATED\nbob {3}enabled {2}\d{4}-\S+Z\n木村 {2}enabled {2}\d{4}-\S+Z\n$/,
    );
  });
});

test('a list of users may be longer than a call has room for arguments', async () => {
  await withStoreFolder(async (folder) => {
    const db = new DatabaseSync(storePath(folder));
    db.exec(
      `WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 200000)
       INSERT INTO users (name, created_at) SELECT 'user ' || id, 1 FROM n`,
    );
    db.close();
    const listed = dataOf(await outcomeOf(launch(['user', 'list', '--data-dir', folder])));
    assert.equal(listed.split('\n').length, 1 + 200_000 + 1);
  });
});

test('an empty list of users is empty data', async () => {
  await withStoreFolder(async (folder) => {
    const table = await run(['user', 'list', '--data-dir', folder]);
    assert.deepEqual([table.code, table.stdout, table.stderr], [0, '', 'No users found.\n']);
    const json = await run(['user', 'list', '--json', '--data-dir', folder]);
    assert.deepEqual([json.code, json.stdout, json.stderr], [0, '[]\n', '']);
  });
});

test('a taken name fails with 1', async () => {
  await withStoreFolder(async (folder) => {
    await run(['user', 'create', 'ann', '--data-dir', folder]);
    const again = await run(['user', 'create', 'ann', '--data-dir', folder]);
    assert.deepEqual([again.code, again.stdout], [1, '']);
    assert.equal(again.stderr, 'error: The user "ann" already exists.\n');
  });
});

test('the tokens of a disabled user are refused from the next request on, and accepted again once enabled', async (t) => {
  const { service, verb } = await startRemote(t);
  const token = await service.tokenFor('ann');
  succeeded(await service.request('GET', '/plants', { token }), 200);

  assert.equal(
    wordsOf(await verb('user', 'disable', 'ann')),
    'Disabled the user "ann". Their tokens are refused and their deliveries are held until: plant-store user enable ann\n',
  );
  failed(
    await service.request('GET', '/plants', { token }),
    40101,
    /The user of the token is disabled or was deleted\./,
  );
  succeeded(await service.request('GET', '/plants'), 200);
  const list = await verb('user', 'list');
  assert.match(list.stdout, /^ann +disabled +\d{4}-\S+Z$/m);

  assert.equal(
    wordsOf(await verb('user', 'enable', 'ann')),
    'Enabled the user "ann". Their tokens are accepted again and their held deliveries are sent.\n',
  );
  succeeded(await service.request('GET', '/plants', { token }), 200);
});

test("a disabled viewer's held deliveries are sent when they are enabled", async (t) => {
  const { service, receiver, verb, plant } = await startRemote(t);
  const token = await service.tokenFor('bob');
  const made = await service.request('POST', '/webhooks', { token, body: { url: receiver.url } });
  const [, webhook = ''] = /"id":"(wh_\w+)"/.exec(made.text) ?? [];
  wordsOf(await verb('share', 'add', '--owner', 'admin', '--viewer', 'bob'));
  wordsOf(await verb('user', 'disable', 'bob'));
  await plant('{"name":"Held"}');
  const held = await service.beside(async ({ store }) => {
    const bob = (await store.access.users()).find(({ name }) => name === 'bob');
    return deliveriesTo(store, { owner: bob?.id ?? 0, id: webhook }, { state: 'held' });
  });
  assert.deepEqual(
    held.map(({ event, attempts }) => [event.plant.name, attempts]),
    [['Held', 0]],
  );

  wordsOf(await verb('user', 'enable', 'bob'));
  await plant('{"name":"Sent"}');
  const names = (await receiver.receive(2)).map(({ body }) => JSON.parse(body.toString()).name);
  assert.deepEqual(names.sort(), ['Held', 'Sent']);
});

test('disabling twice keeps the first time, and both verbs say when there was nothing to do', async () => {
  await withStoreFolder(async (folder) => {
    const env = { DATA_DIR: folder };
    const disabledAt = async () =>
      JSON.parse((await run(['user', 'list', '--json'], env)).stdout)[0].disabledAt;
    await run(['user', 'create', 'ann'], env);
    assert.match(wordsOf(await run(['user', 'enable', 'ann'], env)), /^The user "ann" was already enabled\./);
    await run(['user', 'disable', 'ann'], env);
    const first = await disabledAt();
    assert.match(first, /Z$/);
    assert.match(
      wordsOf(await run(['user', 'disable', 'ann'], env)),
      /^The user "ann" was already disabled\./,
    );
    assert.equal(await disabledAt(), first);
  });
});

test('a name that looks like an option stays a name in the command to paste', async () => {
  await withStoreFolder(async (folder) => {
    await run(['user', 'create', '--data-dir', folder, '--', '-v']);
    const said = wordsOf(await run(['user', 'disable', '--data-dir', folder, '--', '-v']));
    const [, command = ''] = /until: plant-store (.+)\n/.exec(said) ?? [];
    assert.match(wordsOf(await run(command.split(' '))), /^Enabled the user "-v"\./);
  });
});

test('an unknown user can be neither disabled, enabled nor deleted', async () => {
  await withStoreFolder(async (folder) => {
    for (const verb of [['disable'], ['enable'], ['delete', '--yes']]) {
      assert.equal(
        failureOf(await run(['user', ...verb, 'nobody', '--data-dir', folder])),
        `error: There is no user "nobody". To list users: plant-store user list --data-dir ${folder}`,
      );
    }
  });
});

test('without a store the verbs say so, and create none', async () => {
  await withFolder(async (parent) => {
    const folder = join(parent, 'nothing-here');
    for (const verb of [
      ['user', 'list'],
      ['user', 'create', 'ann'],
      ['user', 'disable', 'ann'],
      ['user', 'enable', 'ann'],
      ['user', 'delete', 'ann', '--yes'],
      ['token', 'list'],
      ['token', 'create', '--user', 'ann'],
      ['token', 'show', 'tok_x'],
      ['token', 'rotate', 'tok_x'],
      ['token', 'revoke', 'tok_x'],
      ['share', 'list'],
      ['share', 'add', '--owner', 'ann', '--viewer', 'bob'],
      ['share', 'remove', '--owner', 'ann', '--viewer', 'bob'],
    ]) {
      const { code, stdout, stderr } = await run([...verb, '--data-dir', folder]);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^error: There is no store at .*nothing-here.*--data-dir.*plant-store serve\n$/);
    }
    assert.equal(existsSync(folder), false);
  });
});
