import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../testkit/processes/program.ts';
import { startRemote } from '../../../testkit/processes/remote.ts';

test('own tokens are created, listed, rotated and revoked over the API', async (t) => {
  const { service, env } = await startRemote(t);
  const token = await service.tokenFor('ann');
  // Without the place of the store.
  const own = (...args: string[]) =>
    run(['token', ...args, '--own'], {
      PLANT_STORE_URL: env.PLANT_STORE_URL ?? '',
      PLANT_STORE_TOKEN: token,
    });
  const statusOf = async (one: string) =>
    (await service.request('GET', '/plants', { token: one.trim() })).status;

  const created = await own('create', '--label', 'ci', '--scopes', 'plants:read', '--expires-in', '1h');
  assert.match(created.stdout, /^pst_[0-9A-Za-z]{38}\n$/);
  assert.match(
    created.stderr,
    /^Created the token tok_\w+, which lasts until \S+Z\. It is shown only now\.\n$/,
  );
  assert.equal(await statusOf(created.stdout), 200);

  const listed = JSON.parse((await own('list', '--json')).stdout);
  const { id, label, scopes } = listed.at(-1);
  assert.deepEqual([listed.length, label, scopes], [2, 'ci', ['plants:read']]);
  assert.match((await own('list')).stdout, /^ID +LABEL +SCOPES +CREATED +EXPIRES +LAST USED\ntok_/);

  const rotated = await own('rotate', id, '--overlap', '0');
  assert.match(rotated.stderr, new RegExp(`The old one, ${id}, is refused from now on\\.\\n$`));
  assert.deepEqual([await statusOf(created.stdout), await statusOf(rotated.stdout)], [401, 200]);

  const [, next = ''] = /token (tok_\w+)/.exec(rotated.stderr) ?? [];
  assert.equal((await own('revoke', next)).stderr, `Revoked the token ${next}.\n`);
  assert.equal(await statusOf(rotated.stdout), 401);
  const again = await own('rotate', next);
  assert.deepEqual([again.code, again.stdout], [1, '']);
  assert.match(again.stderr, /no live token/);
});

test('flags of the store and flags of the API do not go together', async () => {
  for (const [args, message] of [
    [['list', '--own', '--user', 'ann'], /--user and --data-dir cannot be used with --own/],
    [['revoke', 'tok_1', '--own', '--data-dir', '/none'], /--user and --data-dir cannot be used with --own/],
    [['list', '--url', 'http://127.0.0.1:9'], /--url, --token and --profile require --own/],
    [['create', '--user', 'ann', '--profile', 'x'], /--url, --token and --profile require --own/],
    [['rotate', 'tok_1', '--own', '--expires-in', '1h'], /--expires-in cannot be used with --own/],
    [['create'], /--user or --own is needed/],
  ] as const) {
    const { code, stderr } = await run(['token', ...args]);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, message);
  }
});
