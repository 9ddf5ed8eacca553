import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createAuthenticate } from '../../src/access/authentication.ts';
import { bootstrap } from '../../src/access/bootstrap.ts';
import { createToken, mintToken } from '../../src/access/tokens.ts';
import { createUser } from '../../src/access/users.ts';
import type { Runtime } from '../../src/runtime.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';

describe('authentication', () => {
  let now = 1_700_000_000_000;
  const runtime: Runtime = { ...systemRuntime(silentLog), clock: { now: () => now } };
  let store: Store;
  before(async () => {
    store = await openSqliteStore({
      path: ':memory:',
      writer: 'inline',
      clock: runtime.clock,
      deliveryDelayMs: 0,
      onFatal: assert.fail,
    });
    await createUser({ store: store.access, runtime }, 'rosa');
  });
  after(() => store.close());

  const parts = () => ({ store: store.access, runtime });
  const token = async (expiresInMs?: number) => {
    const made = await createToken(parts(), {
      user: 'rosa',
      label: '',
      scopes: ['plants:read'],
      expiresInMs,
    });
    assert.ok(made);
    return made;
  };
  const authenticate = (bootstrapToken?: string) => {
    const { known, lookUp } = createAuthenticate({ ...parts(), bootstrapToken });
    return { known, lookUp, check: async (text: string) => known(text) ?? lookUp(text) };
  };

  test('a token that was seen before is known at once', async () => {
    const check = authenticate();
    const { token: text } = await token();
    assert.equal(check.known(text), undefined);
    await check.lookUp(text);
    const seen = check.known(text);
    assert.equal(seen?.user.name, 'rosa');
    assert.deepEqual([...seen.scopes], ['plants:read']);
  });

  test('a token that was seen before is refused as soon as it is revoked', async () => {
    const { check } = authenticate();
    const { id, token: text } = await token();
    await check(text);
    await store.access.revokeToken(id, now);
    await assert.rejects(async () => check(text), { code: 40101 });
  });

  test('a token that was seen before is refused as soon as it has expired', async () => {
    const { check } = authenticate();
    const { token: text } = await token(1000);
    await check(text);
    now += 999;
    await check(text);
    now += 1;
    await assert.rejects(async () => check(text), { code: 40102 });
  });

  test('an unknown token and a mistyped one are refused alike', async () => {
    const { check } = authenticate();
    const unknown = mintToken(randomBytes);
    const mistyped = unknown.slice(0, -1) + (unknown.endsWith('a') ? 'b' : 'a');
    for (const text of [unknown, mistyped]) await assert.rejects(async () => check(text), { code: 40101 });
  });

  test('a bootstrap token that looks like a mistyped one is accepted', async () => {
    const minted = mintToken(randomBytes);
    const chosen = minted.slice(0, -1) + (minted.endsWith('a') ? 'b' : 'a');
    await bootstrap(parts(), chosen);
    const principal = await authenticate(chosen).check(chosen);
    assert.equal(principal.user.name, 'admin');
  });
});
