import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { storePath } from '../../../src/config/config.ts';
import { launch, outcomeOf, run, untilSaid, withStoreFolder } from '../../../testkit/processes/program.ts';
import { failureOf, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { serve, TOKEN } from '../../../testkit/processes/server.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { noTerminal, onTerminal } from '../on-terminal.ts';

test('a deleted user is gone on the next request, and the name is free again', async (t) => {
  const { service, receiver, verb } = await startRemote(t);
  const ann = await service.tokenFor('ann');
  succeeded(await service.request('POST', '/plants', { token: ann, body: { name: 'Alder' } }), 201);
  succeeded(await service.request('POST', '/webhooks', { token: ann, body: { url: receiver.url } }), 201);
  wordsOf(await verb('share', 'add', '--owner', 'ann', '--viewer', 'admin'));
  assert.deepEqual(succeeded(await service.request('GET', '/plants'), 200), [{ name: 'Alder' }]);

  assert.equal(
    wordsOf(await verb('user', 'delete', 'ann', '--yes')),
    'Deleted the user "ann" and everything they had (plants: 1, webhooks: 1, tokens: 1, shares: 1).\n',
  );
  failed(await service.request('GET', '/plants', { token: ann }), 40101);
  assert.deepEqual(succeeded(await service.request('GET', '/plants'), 200), []);

  wordsOf(await verb('user', 'create', 'ann'));
  const other = await service.tokenFor('ann');
  assert.deepEqual(succeeded(await service.request('GET', '/plants', { token: other }), 200), []);
  assert.deepEqual(succeeded(await service.request('GET', '/webhooks', { token: other }), 200), []);
  failed(await service.request('GET', '/plants', { token: ann }), 40101);
});

test('without a terminal a user is deleted only with --yes', async () => {
  await withStoreFolder(async (folder) => {
    const env = { DATA_DIR: folder };
    await run(['user', 'create', 'ann'], env);
    const { code, stdout, stderr } = await run(['user', 'delete', 'ann'], env);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^error: no terminal to ask on; --yes deletes without asking\n/);
    assert.match(failureOf(await run(['user', 'create', 'ann'], env)), /The user "ann" already exists\.$/);
  });
});

test('on a terminal user delete says what it deletes, and asks for the name', async (t) => {
  const reason = noTerminal();
  if (reason !== undefined) return t.skip(reason);
  await withStoreFolder(async (folder) => {
    const env = { DATA_DIR: folder };
    await run(['user', 'create', 'admin'], env);
    await run(['token', 'create', '--user', 'admin'], env);
    const typing = (keys: string) => ({ env, at: 'to confirm:', keys });

    const refused = await onTerminal(['user', 'delete', 'admin'], typing('y\n'));
    assert.match(refused, /permanently deletes .* \(plants: 0, webhooks: 0, tokens: 1, shares: 0\)/);
    assert.match(refused, /creates "admin" again, without plants\./);
    assert.match(refused, /error: Nothing was deleted\.\r\n$/);
    const left = await onTerminal(['user', 'delete', 'admin'], typing('\u0004'));
    assert.match(left, /error: Nothing was deleted\.\r\n$/);

    const agreed = await onTerminal(['user', 'delete', 'admin'], typing('admin\n'));
    assert.match(agreed, /Deleted the user "admin" and everything they had/);
    assert.equal(wordsOf(await run(['user', 'list'], env)), 'No users found.\n');
  });
});

test('an interrupted deletion is finished by the service', async () => {
  await withStoreFolder(async (folder) => {
    const env = { DATA_DIR: folder };
    addPlants(folder, 40_000);
    const child = launch(['user', 'delete', 'ann', '--yes'], env);
    const ended = outcomeOf(child);
    await untilSaid(child.stderr, 'Ctrl+C leaves it', ended);
    child.kill('SIGINT');
    assert.equal((await ended).signal, 'SIGINT');
    assert.notEqual(countPlants(folder), 0);
    assert.equal(wordsOf(await run(['user', 'list'], env)), 'No users found.\n');
    // The name is free, and its next user has none of the plants.
    assert.equal((await run(['user', 'create', 'ann'], env)).code, 0);

    const service = await serve(folder, { BOOTSTRAP_TOKEN: TOKEN });
    await eventually('end of the deletion', async () => (countPlants(folder) === 0 ? true : undefined));
    assert.equal((await service.stop()).code, 0);
  });
});

test('a deletion without a service needs little space beside the store', async () => {
  await withStoreFolder(async (folder) => {
    addPlants(folder, 150_000);
    // In blocks of 512 or 1024 bytes, depending on the shell: more than the store takes, less than all changes to it.
    const small = ['sh', '-c', 'ulimit -f 14000; exec "$@"', 'sh'];
    const ended = outcomeOf(launch(['user', 'delete', 'ann', '--yes'], { DATA_DIR: folder }, small));
    assert.match(wordsOf(await ended), /^Deleted the user "ann"/m);
    assert.equal(countPlants(folder), 0);
  });
});

/** A user "ann" with this many plants. */
function addPlants(folder: string, count: number): void {
  const db = new DatabaseSync(storePath(folder));
  db.exec(`
    BEGIN;
    INSERT INTO users (id, name, created_at) VALUES (1, 'ann', 0);
    INSERT INTO plants (owner, id, name, tag, created_at)
      WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ${count})
      SELECT 1, id, 'Alder', NULL, 0 FROM ids;
    COMMIT`);
  db.close();
}

function countPlants(folder: string): unknown {
  const db = new DatabaseSync(storePath(folder), { readOnly: true });
  const count = db.prepare('SELECT count(*) AS count FROM plants').get()?.count;
  db.close();
  return count;
}
