import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { createVerifyJwt, type VerifyJwt } from '../../src/access/jwt.ts';
import { AppError } from '../../src/errors.ts';
import { identityProvider as limits } from '../../src/limits.ts';
import { type Log, silentLog } from '../../src/runtime.ts';
import {
  AUDIENCE,
  type IdentityProvider,
  startIdentityProvider,
} from '../../testkit/identity/identity-provider.ts';

const DISCOVERY = '/.well-known/openid-configuration';

describe('the keys of an identity provider', () => {
  let provider: IdentityProvider;
  let passedMs: number;
  let warnings: string[];
  let stopped: AbortController;
  before(async () => {
    provider = await startIdentityProvider();
  });
  after(() => provider.stop());
  beforeEach(async () => {
    await provider.rotate('withdrawn');
    passedMs = 0;
    warnings = [];
    stopped = new AbortController();
  });
  afterEach(() => stopped.abort());

  const clock = { now: () => Date.now() + passedMs };
  const log: Log = { ...silentLog, warn: (_context, message) => warnings.push(message) };
  const open = (): VerifyJwt =>
    createVerifyJwt(
      {
        issuer: provider.issuer,
        audience: AUDIENCE,
        jwksUrl: undefined,
        userClaim: 'sub',
        scopeClaim: 'scope',
      },
      { clock, log },
      stopped.signal,
    );
  /** A token that outlives the test's clock. */
  const token = (header = {}) => provider.sign(provider.claims({ exp: 1e10 }), header);
  const asked = (path: string) => provider.asked().filter((each) => each === path).length;

  test('are fetched once for any number of tokens that come at the same time', async () => {
    const { verify } = open();
    const tokens = await Promise.all(Array.from({ length: 50 }, () => token()));
    await Promise.all(tokens.map(verify));
    assert.deepEqual(provider.asked(), [DISCOVERY, '/jwks']);
  });

  test('are requested once in 30 s, however many tokens name an unknown key', async () => {
    const { verify } = open();
    await verify(await token());
    for (let round = 0; round < 3; round++) {
      const flood = await Promise.all(Array.from({ length: 50 }, (_, i) => token({ kid: `${round} ${i}` })));
      const refused = await Promise.allSettled(flood.map(verify));
      for (const answer of refused) {
        assert.ok(answer.status === 'rejected' && answer.reason instanceof AppError);
        assert.equal(answer.reason.code, 40101);
        assert.match(answer.reason.message, /does not publish/);
      }
      assert.equal(asked('/jwks'), round + 1);
      passedMs += limits.unknownKeyMs + 50;
    }
    assert.equal(asked(DISCOVERY), 1);
  });

  test('that are new are found with the first token signed by one', async () => {
    const { verify, keysVersion } = open();
    const old = await token();
    const before = (await verify(old)).keysVersion;
    passedMs += limits.unknownKeyMs + 50;
    await provider.rotate('published');
    const after = (await verify(await token())).keysVersion;
    assert.notEqual(after, before);
    assert.equal(keysVersion(), after);
    assert.equal((await verify(old)).user, 'ann');
    assert.equal(asked('/jwks'), 1);
  });

  test('that were withdrawn stop counting although tokens keep coming', async () => {
    const { verify, keysVersion } = open();
    const old = await token();
    const before = (await verify(old)).keysVersion;
    await provider.rotate('withdrawn');
    passedMs += limits.refreshMs + 50;
    // Nobody waits: the known keys still count during the fetch.
    assert.equal(keysVersion(), before);
    await verify(await token());
    assert.equal(asked('/jwks'), 1);
    assert.notEqual(keysVersion(), before);
    await assert.rejects(verify(old), { code: 40101, message: /does not publish/ });
  });

  test('that were withdrawn during a quiet time stop counting before the next token', async () => {
    const { verify, keysVersion } = open();
    const old = await token();
    await verify(old);
    await provider.rotate('withdrawn');
    passedMs += limits.trustedMs + 50;
    assert.equal(keysVersion(), undefined);
    await assert.rejects(verify(old), { code: 40101 });
  });

  test('that are unchanged cause no token to be verified again', async () => {
    const { verify, keysVersion } = open();
    const text = await token();
    const before = (await verify(text)).keysVersion;
    passedMs += limits.trustedMs + 50;
    assert.equal((await verify(text)).keysVersion, before);
    assert.equal(keysVersion(), before);
    assert.equal(asked('/jwks'), 2);
  });

  test('that are unavailable lead to a Retry-After, and are fetched when the provider is back', async (t) => {
    const text = await token();
    // Only `passedMs` changes the time.
    const begun = Date.now();
    t.mock.method(Date, 'now', () => begun);
    await provider.down();
    const { verify } = open();
    const down = { code: 50304, headers: { 'retry-after': '5' } };
    await Promise.all(Array.from({ length: 20 }, () => assert.rejects(verify(text), down)));
    assert.equal(warnings.length, 1);
    await provider.up();
    passedMs += limits.firstRetryMs - 900;
    await assert.rejects(verify(text), { code: 50304, headers: { 'retry-after': '1' } });
    passedMs += 950;
    assert.equal((await verify(text)).user, 'ann');
  });

  test('stay in use for as long as the provider is down', async () => {
    const { verify, keysVersion } = open();
    const text = await token();
    const before = (await verify(text)).keysVersion;
    await provider.down();
    for (let hours = 0; hours < 3; hours++) {
      passedMs += 3_600_000;
      assert.equal((await verify(text)).keysVersion, before);
      assert.equal(keysVersion(), before);
    }
    const unknown = await token({ kid: 'unknown' });
    await assert.rejects(verify(unknown), { code: 50304, message: /identity provider cannot be reached/ });
    await provider.up();
    passedMs += limits.unknownKeyMs + 50;
    await assert.rejects(verify(unknown), { code: 40101 });
  });

  test('that are malformed do not replace the known ones', async () => {
    const { verify, keysVersion } = open();
    const text = await token();
    const before = (await verify(text)).keysVersion;
    provider.publish('{"keys":[1]}');
    passedMs += limits.trustedMs + 50;
    assert.equal((await verify(text)).keysVersion, before);
    assert.equal(keysVersion(), before);
    assert.equal(warnings.length, 1);
  });

  test('that are being fetched when the service stops are given up silently', async () => {
    const { verify } = open();
    stopped.abort();
    await assert.rejects(verify(await token()), { code: 50304 });
    assert.deepEqual(warnings, []);
  });
});
