import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { createAuthenticate } from '../../src/access/authentication.ts';
import { setBootstrapToken } from '../../src/access/bootstrap.ts';
import { createVerifyJwt } from '../../src/access/jwt.ts';
import { createToken } from '../../src/access/tokens.ts';
import { identityProvider as limits } from '../../src/limits.ts';
import { type Runtime, silentLog, systemRuntime } from '../../src/runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import {
  AUDIENCE,
  type IdentityProvider,
  startIdentityProvider,
} from '../../testkit/identity/identity-provider.ts';

describe('the user of a JWT', () => {
  let provider: IdentityProvider;
  let store: Store;
  let passedMs: number;
  let stopped: AbortController;
  before(async () => {
    provider = await startIdentityProvider(['ann', 'rosa']);
  });
  after(() => provider.stop());
  beforeEach(async () => {
    passedMs = 0;
    stopped = new AbortController();
    store = await openSqliteStore({
      path: ':memory:',
      writer: 'inline',
      clock: runtime.clock,
      deliveryDelayMs: 0,
      onFatal: assert.fail,
    });
  });
  afterEach(async () => {
    stopped.abort();
    await store.close();
  });

  const runtime: Runtime = {
    ...systemRuntime(silentLog),
    clock: { now: () => Date.now() + passedMs },
  };
  const names = async () => (await store.access.users()).map(({ name }) => name);
  const openAuthenticate = (bootstrapToken?: string) => {
    const location = { issuer: provider.issuer, audience: AUDIENCE, jwksUrl: undefined };
    const { known, lookUp } = createAuthenticate({
      store: store.access,
      runtime,
      bootstrapToken,
      jwts: createVerifyJwt({ ...location, userClaim: 'sub', scopeClaim: 'scope' }, runtime, stopped.signal),
    });
    return { known, lookUp, check: async (text: string) => known(text) ?? lookUp(text) };
  };

  test('is created once with the first token, however many arrive together', async () => {
    const { check } = openAuthenticate();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => provider.token('ann')));
    const principals = await Promise.all(tokens.map(check));
    assert.equal(new Set(principals.map(({ user }) => user.id)).size, 1);
    assert.equal(new Set(principals.map(({ countedAs }) => countedAs)).size, 1);
    assert.deepEqual(await names(), ['ann']);
  });

  test('is not created for a refused token', async () => {
    const { check } = openAuthenticate();
    await assert.rejects(check(await provider.sign(provider.claims({ aud: 'other' }))), { code: 40101 });
    assert.deepEqual(await names(), []);
  });

  test('is asked of a token whose header begins with a line break, too', async () => {
    const { check } = openAuthenticate();
    const header = Buffer.from('{\n"alg":"none"}').toString('base64url');
    await assert.rejects(check(`${header}.e30.AA`), { message: /^The token is not acceptable: its issuer/ });
  });

  test('is the existing user of that name', async () => {
    const { check } = openAuthenticate();
    const made = await store.access.createUser({ name: 'rosa', at: runtime.clock.now() });
    const principal = await check(await provider.token('rosa'));
    assert.deepEqual(principal.user, { id: made?.id, name: 'rosa' });
  });

  test('is cached from the second request on', async () => {
    const { known, lookUp } = openAuthenticate();
    const token = await provider.token('ann', { scope: 'plants:read' });
    assert.equal(known(token), undefined);
    const principal = await lookUp(token);
    assert.equal(known(token), principal);
    assert.deepEqual([...principal.scopes], ['plants:read']);
  });

  test('is refused as soon as a cached token has expired', async () => {
    const { check } = openAuthenticate();
    const token = await provider.token('ann');
    const { refusedFrom = Number.NaN } = await check(token);
    passedMs = refusedFrom - Date.now() - 5_000;
    await check(token);
    passedMs += 5_000;
    await assert.rejects(check(token), { code: 40102 });
  });

  test('is refused as soon as the user is disabled, and accepted again when enabled', async () => {
    const { check } = openAuthenticate();
    const token = await provider.token('ann');
    await check(token);
    await store.access.setUserDisabled('ann', true, runtime.clock.now());
    for (let i = 0; i < 2; i++) await assert.rejects(check(token), { code: 40101, message: /disabled/ });
    await store.access.setUserDisabled('ann', false, runtime.clock.now());
    await check(token);
  });

  test('is refused with an opaque token too while disabled', async () => {
    const { check } = openAuthenticate();
    const { name: user } = (await check(await provider.token('ann'))).user;
    const made = await createToken(
      { store: store.access, runtime },
      { user, label: '', scopes: ['plants:read'] },
    );
    assert.ok(made);
    await check(made.token);
    await store.access.setUserDisabled('ann', true, runtime.clock.now());
    await assert.rejects(check(made.token), { code: 40101, message: /disabled/ });
  });

  test('is verified again when the keys have changed', async () => {
    const { known, check } = openAuthenticate();
    const [old, text] = [await provider.token('ann'), await provider.token('rosa')];
    await check(old);
    await check(text);
    await provider.rotate('withdrawn');
    passedMs = limits.trustedMs - 60_000;
    assert.ok(known(old));
    await check(await provider.sign(provider.claims({ exp: 1e10 })));
    assert.equal(known(old), undefined);
    await assert.rejects(check(old), { code: 40101, message: /does not publish/ });
  });

  test('is the admin for a bootstrap token that looks like a JWT', async () => {
    const token = `ey${'x'.repeat(30)}.y.z`;
    await setBootstrapToken({ store: store.access, runtime }, token);
    const principal = await openAuthenticate(token).check(token);
    assert.equal(principal.user.name, 'admin');
  });

  test('is nobody without an identity provider', async () => {
    const { lookUp } = createAuthenticate({ store: store.access, runtime, bootstrapToken: undefined });
    await assert.rejects(lookUp(await provider.token('ann')), { code: 40101, message: /unknown/ });
    assert.deepEqual(await names(), []);
  });
});
