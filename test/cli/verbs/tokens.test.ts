import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { test } from 'node:test';
import { scopes } from '../../../src/access/scopes.ts';
import { isMistyped } from '../../../src/access/tokens.ts';
import { WITHOUT_CAPABILITIES, whyNoPermissions } from '../../../testkit/processes/permissions.ts';
import { launch, outcomeOf, run, withStoreFolder } from '../../../testkit/processes/program.ts';

type ListedToken = {
  id: string;
  user: string;
  label: string;
  scopes: string[];
  status: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
};

async function listed(folder: string): Promise<ListedToken[]> {
  const { code, stdout, stderr } = await run(['token', 'list', '--json', '--data-dir', folder]);
  assert.deepEqual([code, stderr], [0, '']);
  return JSON.parse(stdout);
}

test('a created token is alone on standard output, without messages', async () => {
  await withStoreFolder(async (folder) => {
    await run(['user', 'create', 'ann', '--data-dir', folder]);
    const { code, stdout, stderr } = await run(['token', 'create', '--user', 'ann', '--data-dir', folder]);
    assert.equal(code, 0);
    assert.match(stdout, /^pst_[0-9A-Za-z]{38}\n$/);
    assert.equal(isMistyped(stdout.trim()), false);
    assert.match(stderr, /^Created the token tok_\w+ for the user "ann"\. It is shown only once\.\n$/);
    assert.ok(!stderr.includes(stdout.trim()));
  });
});

test("the list shows a token's scopes and expiry, and never the token", async () => {
  await withStoreFolder(async (folder) => {
    await run(['user', 'create', 'ann', '--data-dir', folder]);
    const create = ['token', 'create', '--user', 'ann', '--data-dir', folder];
    const made = await run([
      ...create,
      '--label',
      'import',
      '--scopes',
      'webhooks:read, plants:write',
      '--expires-in',
      '90d',
    ]);
    await run(create);

    const [first, second] = await listed(folder);
    assert.deepEqual(Object.keys(first ?? {}), [
      'id',
      'user',
      'label',
      'scopes',
      'status',
      'createdAt',
      'expiresAt',
      'revokedAt',
      'replacedBy',
      'isBootstrap',
      'lastUsedOn',
    ]);
    assert.equal(first?.user, 'ann');
    assert.equal(first?.label, 'import');
    assert.deepEqual(first?.scopes, ['plants:write', 'webhooks:read']);
    assert.equal(first?.status, 'live');
    assert.equal(Date.parse(first?.expiresAt ?? '') - Date.parse(first?.createdAt ?? ''), 90 * 86_400_000);
    assert.equal(first?.revokedAt, null);
    assert.deepEqual(second?.scopes, scopes);
    assert.equal(second?.expiresAt, null);

    const table = await run(['token', 'list', '--data-dir', folder]);
    assert.match(table.stdout, /^ID +USER +LABEL +SCOPES +STATUS +CREATED +EXPIRES\ntok_/);
    assert.ok(!table.stdout.includes(made.stdout.trim()));
  });
});

test('a revoked token stays in the list, with the time of the first revocation', async () => {
  await withStoreFolder(async (folder) => {
    await run(['user', 'create', 'ann', '--data-dir', folder]);
    await run(['token', 'create', '--user', 'ann', '--data-dir', folder]);
    const [token] = await listed(folder);
    const id = token?.id ?? '';

    const revoked = await run(['token', 'revoke', id, '--data-dir', folder]);
    assert.deepEqual([revoked.code, revoked.stdout, revoked.stderr], [0, '', `Revoked the token ${id}.\n`]);
    const [after] = await listed(folder);
    assert.equal(after?.status, 'revoked');
    assert.ok(after?.revokedAt);

    assert.equal((await run(['token', 'revoke', id, '--data-dir', folder])).code, 0);
    assert.deepEqual(await listed(folder), [after]);
  });
});

test('a token for an unknown user, and revoking an unknown token, fail with 1', async () => {
  await withStoreFolder(async (folder) => {
    const create = await run(['token', 'create', '--user', 'nobody', '--data-dir', folder]);
    assert.deepEqual([create.code, create.stdout], [1, '']);
    assert.equal(
      create.stderr,
      `error: There is no user "nobody". To create it: plant-store user create nobody --data-dir ${folder}\n`,
    );

    const revoke = await run(['token', 'revoke', 'tok_nothing', '--data-dir', folder]);
    assert.deepEqual([revoke.code, revoke.stdout], [1, '']);
    assert.match(revoke.stderr, /^error: There is no token tok_nothing\. .* token list --data-dir \S+\n$/);
  });
});

test('in a data folder that this user may not enter, a verb says who may', {
  skip: whyNoPermissions,
}, async () => {
  await withStoreFolder(async (folder) => {
    await chmod(folder, 0);
    const { code, stderr } = await outcomeOf(
      launch(['token', 'list', '--data-dir', folder], {}, WITHOUT_CAPABILITIES),
    );
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: \S+plant-store\.db cannot be used: permission denied \(EACCES\)\. Run it as the owner [^\n]+\n$/,
    );
  });
});
