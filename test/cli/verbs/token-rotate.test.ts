import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scopes } from '../../../src/access/scopes.ts';
import { type Outcome, run, withStoreFolder } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';

const DAY = 86_400_000;

type Made = { id: string; token: string; said: string };

/** The created token, alone on standard output, and its id. */
function madeBy({ code, stdout, stderr }: Outcome): Made {
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^pst_[0-9A-Za-z]{38}\n$/);
  const [, id = ''] = /^Created the token (tok_\w+)/.exec(stderr) ?? [];
  return { id, token: stdout.trim(), said: stderr };
}

/** Gives the work the verbs on a store with the user ann. */
async function withAnn(work: (verb: Verb) => Promise<void>): Promise<void> {
  await withStoreFolder(async (folder) => {
    const verb: Verb = (...args) => run([...args, '--data-dir', folder]);
    wordsOf(await verb('user', 'create', 'ann'));
    await work(verb);
  });
}

type Verb = (...args: string[]) => Promise<Outcome>;

async function shown(verb: Verb, id: string): Promise<Record<string, string | null>> {
  return JSON.parse(dataOf(await verb('token', 'show', id, '--json')));
}

/** From its creation to its expiry; undefined without one. */
async function lifetime(verb: Verb, id: string): Promise<number | undefined> {
  const { createdAt, expiresAt } = await shown(verb, id);
  return expiresAt === null ? undefined : Date.parse(expiresAt ?? '') - Date.parse(createdAt ?? '');
}

test('the old token works alongside the new one for the overlap, and not at all with --overlap 0', async (t) => {
  const { service, verb } = await startRemote(t);
  await verb('user', 'create', 'ann');
  const answerTo = ({ token }: Made) => service.request('GET', '/plants', { token });
  const first = madeBy(await verb('token', 'create', '--user', 'ann'));
  succeeded(await answerTo(first), 200);

  const second = madeBy(await verb('token', 'rotate', first.id));
  assert.match(
    second.said,
    new RegExp(`until revoked\\.\nThe old token, ${first.id}, stays valid until \\S+Z\\.\n$`),
  );
  for (const token of [first, second]) succeeded(await answerTo(token), 200);

  const third = madeBy(await verb('token', 'rotate', second.id, '--overlap', '0s'));
  assert.match(third.said, new RegExp(`The old token, ${second.id}, is refused from now on\\.\n$`));
  failed(await answerTo(second), 40102);
  succeeded(await answerTo(third), 200);
});

test('a rotated token has the user, label, scopes and lifetime of the one before', async () => {
  await withAnn(async (verb) => {
    const create = ['token', 'create', '--user', 'ann', '--label', 'import', '--scopes', 'plants:write'];
    const old = madeBy(await verb(...create, '--expires-in', '90d'));
    const next = madeBy(await verb('token', 'rotate', old.id, '--overlap', '7d'));
    const { user, label, scopes, status } = await shown(verb, next.id);
    assert.deepEqual(
      { user, label, scopes, status },
      {
        user: 'ann',
        label: 'import',
        scopes: ['plants:write'],
        status: 'live',
      },
    );
    assert.equal(await lifetime(verb, next.id), 90 * DAY);
    const end = Date.parse((await shown(verb, old.id)).expiresAt ?? '');
    assert.ok(Math.abs(end - Date.now() - 7 * DAY) < DAY);

    const short = madeBy(await verb('token', 'rotate', next.id, '--expires-in', '1h'));
    assert.equal(await lifetime(verb, short.id), DAY / 24);
    // The rest of its lifetime, an hour, bounds the overlap.
    const last = madeBy(await verb('token', 'rotate', short.id, '--overlap', '30d'));
    assert.equal(await lifetime(verb, short.id), DAY / 24);
    assert.ok(last.said.includes(`until ${(await shown(verb, short.id)).expiresAt}.\n`));
  });
});

test('only a live token is rotated, and the bootstrap token only through its setting', async (t) => {
  const { verb } = await startRemote(t);
  await verb('user', 'create', 'ann');
  const { id } = madeBy(await verb('token', 'create', '--user', 'ann'));
  wordsOf(await verb('token', 'revoke', id));
  assert.equal(
    failureOf(await verb('token', 'rotate', id)),
    `error: The token ${id} has expired or was revoked. To create another: plant-store token create --user NAME`,
  );
  assert.equal(
    failureOf(await verb('token', 'rotate', 'tok_nothing')),
    'error: There is no token tok_nothing. To list tokens: plant-store token list',
  );

  const [bootstrap] = JSON.parse(dataOf(await verb('token', 'list', '--user', 'admin', '--json')));
  assert.match(
    failureOf(await verb('token', 'rotate', bootstrap.id)),
    /is the bootstrap token\. To replace it, start the service with another BOOTSTRAP_TOKEN\.$/,
  );
});

test('revoking the bootstrap token warns that its setting makes it valid again', async (t) => {
  const { verb } = await startRemote(t);
  const [{ id }] = JSON.parse(dataOf(await verb('token', 'list', '--json')));
  const { code, stderr } = await verb('token', 'revoke', id, '--quiet');
  assert.equal(code, 0);
  assert.match(stderr, /^warning: .* the next start with the same BOOTSTRAP_TOKEN accepts it again\./);
});

test("token show describes a token's status, and never shows the token", async () => {
  await withAnn(async (verb) => {
    const create = ['token', 'create', '--user', 'ann', '--label', 'laptop', '--expires-in', '1d'];
    const { id, token } = madeBy(await verb(...create));
    const show = async () => dataOf(await verb('token', 'show', id));
    const table = await show();
    assert.match(
      table,
      new RegExp(
        `^ID +${id}\nUser +ann\nLabel +laptop\nScopes +${scopes.join(', ')}\n` +
          'Status +live\nCreated +\\S+Z\nExpires +\\S+Z\n$',
      ),
    );
    assert.ok(!table.includes(token));
    await verb('user', 'disable', 'ann');
    assert.match(await show(), /^Status +disabled, until its user is enabled$/m);
    await verb('user', 'enable', 'ann');
    await verb('token', 'rotate', id, '--overlap', '0');
    assert.match(await show(), /^Status +expired at \S+Z$/m);
    await verb('token', 'revoke', id);
    assert.match(await show(), /^Status +revoked at \S+Z$/m);
    assert.match(failureOf(await verb('token', 'show', 'tok_nothing')), /There is no token tok_nothing\./);
  });
});

test('a token for a disabled user is created, with a note that it is refused', async () => {
  await withAnn(async (verb) => {
    await verb('user', 'disable', 'ann');
    const { said } = madeBy(await verb('token', 'create', '--user', 'ann'));
    assert.match(
      said,
      /\nThe user is disabled, so it is refused until: plant-store user enable ann --data-dir \S+\n$/,
    );
    assert.match(dataOf(await verb('token', 'list')), / disabled /);
  });
});

test('token list can be limited to one user, and fails for an unknown one', async () => {
  await withAnn(async (verb) => {
    await verb('user', 'create', 'bob');
    for (const user of ['ann', 'bob', 'ann']) await verb('token', 'create', '--user', user);
    const listed: { user: string }[] = JSON.parse(
      dataOf(await verb('token', 'list', '--user', 'ann', '--json')),
    );
    assert.deepEqual(
      listed.map(({ user }) => user),
      ['ann', 'ann'],
    );
    assert.match(failureOf(await verb('token', 'list', '--user', 'ana')), /There is no user "ana"\./);
  });
});
