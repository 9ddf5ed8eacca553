import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { storePath } from '../../../src/config/config.ts';
import { access } from '../../../src/limits.ts';
import { run, withStoreFolder } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';

const ANN_TO_BOB = ['--owner', 'ann', '--viewer', 'bob'];

async function withAnnAndBob(work: (verb: Verb, folder: string) => Promise<void>): Promise<void> {
  await withStoreFolder(async (folder) => {
    const verb: Verb = (...args) => run([...args, '--data-dir', folder]);
    for (const name of ['ann', 'bob']) wordsOf(await verb('user', 'create', name));
    await work(verb, folder);
  });
}

type Verb = (...args: string[]) => ReturnType<typeof run>;

test("a viewer lists the owner's plants from the next request on, until the share is removed", async (t) => {
  const { service, verb } = await startRemote(t);
  const [ann, bob] = [await service.tokenFor('ann'), await service.tokenFor('bob')];
  succeeded(await service.request('POST', '/plants', { token: ann, body: { name: 'Alder' } }), 201);
  const seen = async () =>
    succeeded(await service.request('GET', '/plants?fields=owner,name', { token: bob }), 200);
  assert.deepEqual(await seen(), []);

  assert.equal(
    wordsOf(await verb('share', 'add', ...ANN_TO_BOB)),
    'The user "bob" can now read the plants of "ann".\n',
  );
  assert.deepEqual(await seen(), [{ owner: 'ann', name: 'Alder' }]);
  failed(await service.request('DELETE', '/plants/1', { token: bob }), 40401);

  assert.equal(
    wordsOf(await verb('share', 'remove', ...ANN_TO_BOB)),
    'The user "bob" can no longer read the plants of "ann".\n',
  );
  assert.deepEqual(await seen(), []);
});

test("a viewer's webhook gets the owner's new plants, until the share is removed", async (t) => {
  const { service, receiver, verb } = await startRemote(t);
  const [ann, bob] = [await service.tokenFor('ann'), await service.tokenFor('bob')];
  const plant = async (token: string, name: string) =>
    succeeded(await service.request('POST', '/plants', { token, body: { name } }), 201);
  // The service has cached to whom ann's plants go, and must look again.
  await plant(ann, 'before');
  succeeded(await service.request('POST', '/webhooks', { token: bob, body: { url: receiver.url } }), 201);

  wordsOf(await verb('share', 'add', ...ANN_TO_BOB));
  await plant(ann, 'shared');
  await receiver.receive(1);
  wordsOf(await verb('share', 'remove', ...ANN_TO_BOB));
  await plant(ann, 'after');
  await plant(bob, 'own');
  const names = (await receiver.receive(2)).map(({ body }) => JSON.parse(body.toString()).name);
  assert.deepEqual(names, ['shared', 'own']);
});

test('the list of shares is a table or JSON, of everyone or of one side', async () => {
  await withAnnAndBob(async (verb) => {
    assert.equal(wordsOf(await verb('share', 'list')), 'No shares found.\n');
    assert.equal(dataOf(await verb('share', 'list', '--json')), '[]\n');

    await verb('user', 'create', 'carl');
    await verb('share', 'add', '--owner', 'carl', '--viewer', 'bob');
    await verb('share', 'add', '--owner', 'ann', '--viewer', 'carl');
    await verb('share', 'add', ...ANN_TO_BOB);
    assert.match(
      dataOf(await verb('share', 'list')),
      /^OWNER {2}VIEWER {2}SINCE\nann {4}bob {5}\d{4}-\S+Z\nann {4}carl {4}\S+\ncarl {3}bob {5}\S+\n$/,
    );
    const [first] = JSON.parse(dataOf(await verb('share', 'list', '--owner', 'ann', '--json')));
    assert.deepEqual(Object.keys(first), ['owner', 'viewer', 'createdAt']);
    const owners = async (...flags: string[]) => {
      const shares: { owner: string }[] = JSON.parse(dataOf(await verb('share', 'list', '--json', ...flags)));
      return shares.map(({ owner }) => owner);
    };
    assert.deepEqual(await owners('--owner', 'ann'), ['ann', 'ann']);
    assert.deepEqual(await owners('--viewer', 'bob'), ['ann', 'carl']);
    assert.deepEqual(await owners('--owner', 'bob'), []);
    assert.match(failureOf(await verb('share', 'list', '--viewer', 'bbo')), /There is no user "bbo"\./);
  });
});

test('sharing twice succeeds, and removing a missing share fails', async () => {
  await withAnnAndBob(async (verb, folder) => {
    const list = `plant-store share list --data-dir ${folder}`;
    const none = `error: There is no share of "ann" with "bob". To list shares: ${list}`;
    assert.equal(failureOf(await verb('share', 'remove', ...ANN_TO_BOB)), none);
    wordsOf(await verb('share', 'add', ...ANN_TO_BOB));
    assert.equal(
      wordsOf(await verb('share', 'add', ...ANN_TO_BOB)),
      'The user "bob" could already read the plants of "ann".\n',
    );
    wordsOf(await verb('share', 'remove', ...ANN_TO_BOB));
    assert.equal(failureOf(await verb('share', 'remove', ...ANN_TO_BOB)), none);
  });
});

test('nothing is shared with an unknown user, nor with oneself', async () => {
  await withAnnAndBob(async (verb, folder) => {
    for (const flags of [
      ['--owner', 'ann', '--viewer', 'nobody'],
      ['--owner', 'nobody', '--viewer', 'ann'],
    ]) {
      assert.equal(
        failureOf(await verb('share', 'add', ...flags)),
        `error: There is no user "nobody". To create it: plant-store user create nobody --data-dir ${folder}`,
      );
    }
    const own = await verb('share', 'add', '--owner', 'ann', '--viewer', 'ann');
    assert.deepEqual([own.code, own.stdout], [2, '']);
    assert.match(
      own.stderr,
      /^error: users can always read their own plants; pass another user as --viewer\n/,
    );
  });
});

test('a user at the limit of shares gets no more', async () => {
  await withStoreFolder(async (folder) => {
    const most = access.sharesPerUser;
    fillShares(folder, most);
    const add = ['share', 'add', '--data-dir', folder];
    await run(['user', 'create', 'ann', '--data-dir', folder]);
    assert.equal(
      failureOf(await run([...add, '--owner', 'hub', '--viewer', 'ann'])),
      `error: The user "hub" already shares with ${most} users, the maximum.`,
    );
    assert.equal(
      failureOf(await run([...add, '--owner', 'ann', '--viewer', 'hub'])),
      `error: ${most} users, the maximum, already share with "hub".`,
    );
  });
});

/** A user "hub" with this many shares on each side. */
function fillShares(folder: string, count: number): void {
  const db = new DatabaseSync(storePath(folder));
  db.exec(`
    BEGIN;
    INSERT INTO users (id, name, created_at) VALUES (1, 'hub', 0);
    INSERT INTO users (id, name, created_at)
      WITH RECURSIVE ids (id) AS (SELECT 2 UNION ALL SELECT id + 1 FROM ids WHERE id <= ${count})
      SELECT id, 'user ' || id, 0 FROM ids;
    INSERT INTO shares (owner, viewer, created_at) SELECT 1, id, 0 FROM users WHERE id > 1;
    INSERT INTO shares (owner, viewer, created_at) SELECT id, 1, 0 FROM users WHERE id > 1;
    COMMIT`);
  db.close();
}
