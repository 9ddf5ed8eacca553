import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { base64url, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createVerifyJwt, type VerifyJwt } from '../../src/access/jwt.ts';
import { AppError, type ErrorCode } from '../../src/errors.ts';
import { silentLog } from '../../src/runtime.ts';
import {
  AUDIENCE,
  type Claims,
  type IdentityProvider,
  startIdentityProvider,
} from '../../testkit/identity/identity-provider.ts';

describe('a JWT', () => {
  let provider: IdentityProvider;
  let verify: VerifyJwt['verify'];
  const stopped = new AbortController();
  const verifier = (userClaim = 'sub', scopeClaim = 'scope') =>
    createVerifyJwt(
      { issuer: provider.issuer, audience: AUDIENCE, jwksUrl: undefined, userClaim, scopeClaim },
      { clock: { now: Date.now }, log: silentLog },
      stopped.signal,
    );

  before(async () => {
    provider = await startIdentityProvider();
    ({ verify } = verifier());
  });
  after(async () => {
    stopped.abort();
    await provider.stop();
  });

  const nowSeconds = () => Math.floor(Date.now() / 1000);
  const signed = (changes: Claims, header = {}) => provider.sign(provider.claims(changes), header);

  async function refused(token: string, code: ErrorCode, message: RegExp): Promise<void> {
    await assert.rejects(verify(token), (error) => {
      assert.ok(error instanceof AppError, String(error));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
      // The logged cause must not contain the claims either.
      assert.equal(error.cause, undefined);
      for (const part of token.split('.')) assert.ok(part === '' || !error.message.includes(part));
      return true;
    });
  }

  test('that the provider signed with one of the four algorithms is accepted', async () => {
    for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
      const { user, scopes } = await verify(await provider.token('ann', { alg, scope: 'plants:read' }));
      assert.equal(user, 'ann');
      assert.deepEqual([...scopes], ['plants:read']);
    }
  });

  test('is valid until its expiry plus the clock skew', async () => {
    const exp = nowSeconds() + 100;
    const { expiresAt, refusedFrom } = await verify(await signed({ exp }));
    assert.equal(expiresAt, exp * 1000);
    assert.equal(refusedFrom, (exp + 60) * 1000);
    await verify(await signed({ exp: nowSeconds() - 50 }));
    await refused(await signed({ exp: nowSeconds() - 61 }), 40102, /expired/);
  });

  test('with a fractional or a huge expiry ends at a whole millisecond, in year 9999 at the latest', async () => {
    const lastSecond = Date.parse('9999-12-31T23:59:59Z');
    for (const [exp, end] of [
      [1.9e9 + 0.123456, 1.9e12 + 123],
      [lastSecond / 1000, lastSecond],
      [1.79e15, lastSecond],
      [1e308, lastSecond],
    ] as const) {
      const { expiresAt, refusedFrom } = await verify(await signed({ exp }));
      assert.deepEqual([expiresAt, refusedFrom], [end, end + 60_000]);
    }
    for (const exp of [-0.5, -1e308]) await refused(await signed({ exp }), 40102, /expired/);
  });

  test('is valid from its nbf, minus the clock skew', async () => {
    await verify(await signed({ nbf: nowSeconds() + 50 }));
    await refused(await signed({ nbf: nowSeconds() + 70 }), 40101, /not valid yet/);
  });

  test('of another issuer is refused, even if only a slash differs, without asking the provider', async () => {
    await verify(await signed({}));
    const asked = provider.asked().length;
    for (const iss of [`${provider.issuer}/`, 'https://id.example.org', undefined, [provider.issuer]]) {
      await refused(await signed({ iss }, { kid: 'unknown' }), 40101, /its issuer \(iss\) is not/);
    }
    assert.equal(provider.asked().length, asked);
  });

  test('for another audience is refused, and one for several is accepted', async () => {
    await verify(await signed({ aud: ['https://other.example.org', AUDIENCE] }));
    await refused(await signed({ aud: 'ann' }), 40101, /aud must name this service/);
    await refused(await signed({ aud: [`${AUDIENCE}/`] }), 40101, /aud must name this service/);
    await refused(await signed({ aud: undefined }), 40101, /lacks the claim aud/);
  });

  test('without an expiry is refused', async () => {
    await refused(await signed({ exp: undefined }), 40101, /lacks the claim exp/);
    await refused(await signed({ exp: 'tomorrow' }), 40101, /exp must be a number/);
  });

  test('that names no user is refused', async () => {
    await refused(await signed({ sub: undefined }), 40101, /lacks the claim sub/);
    for (const sub of ['', ' ann', 'ann ', 'a\nb', 'a\0', '\ud800', 'x'.repeat(256), 7, null, ['ann'], {}]) {
      await refused(await signed({ sub }), 40101, /sub must be a user name/);
    }
  });

  test('names the user in the configured claim', async () => {
    const byName = verifier('preferred_username');
    const { user } = await byName.verify(await provider.token('ann'));
    assert.equal(user, 'ann of the garden');
    for (const claim of ['__proto__', 'constructor', 'toString']) {
      await assert.rejects(verifier(claim).verify(await provider.token('ann')), { code: 40101 });
    }
  });

  test('has the known scopes in its scope claim', async () => {
    const scopes = async (scope: unknown) => [...(await verify(await signed({ scope }))).scopes];
    assert.deepEqual(await scopes('openid plants:read email  plants:write'), ['plants:read', 'plants:write']);
    assert.deepEqual(await scopes('plants:readplants:write PLANTS:READ'), []);
    assert.deepEqual(await scopes(['plants:read', 'email', ['plants:write'], 1]), ['plants:read']);
    for (const none of [undefined, '', [], ['plants:read plants:write'], { 'plants:read': true }, 1]) {
      assert.deepEqual(await scopes(none), []);
    }
  });

  test('has the scopes in the configured claim', async () => {
    for (const claim of ['scp', 'permissions', 'https://garden.example.org/scopes']) {
      const { verify } = verifier('sub', claim);
      for (const listed of ['webhooks:read plants:read', ['webhooks:read', 'plants:read']]) {
        const { scopes } = await verify(await signed({ scope: 'plants:write', [claim]: listed }));
        assert.deepEqual([...scopes], ['webhooks:read', 'plants:read']);
      }
    }
    for (const claim of ['__proto__', 'constructor', 'toString']) {
      assert.equal((await verifier('sub', claim).verify(await signed({}))).scopes.size, 0);
    }
  });

  test("that is bound to a client's key is refused", async () => {
    await refused(await signed({ cnf: { jkt: 'x' } }), 40101, /bound to a key of its client/);
  });

  test('without a signature is refused', async () => {
    const claims = base64url.encode(JSON.stringify(provider.claims()));
    for (const alg of ['none', 'None', 'NONE', '', undefined, 'nOnE']) {
      const header = base64url.encode(JSON.stringify({ alg, typ: 'JWT', kid: 'ES256-1' }));
      for (const signature of ['', 'AA']) {
        await refused(`${header}.${claims}.${signature}`, 40101, /signed/);
      }
    }
  });

  test('that is signed with a public key as a secret is refused', async () => {
    for (const jwk of provider.keys()) {
      // Every spelling of the key that an attacker may have.
      const key = createPublicKey({ key: jwk, format: 'jwk' });
      const spki = key.export({ type: 'spki', format: 'pem' });
      for (const secret of [String(spki), JSON.stringify(jwk), jwk.n ?? jwk.x ?? '']) {
        for (const alg of ['HS256', 'HS384', 'HS512']) {
          const token = await new SignJWT({ ...provider.claims() })
            .setProtectedHeader({ alg, kid: jwk.kid ?? '' })
            .sign(new TextEncoder().encode(secret.padEnd(64)));
          await refused(token, 40101, /must be signed with RS256/);
        }
      }
    }
  });

  test('that claims another algorithm than its key has is refused', async () => {
    const [header = '', claims = '', signature = ''] = (await signed({})).split('.');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
    for (const alg of ['RS256', 'PS256', 'EdDSA', 'RS384', 'ES384', 'Ed25519', 'constructor', '__proto__']) {
      const other = base64url.encode(JSON.stringify({ alg, kid }));
      await refused(`${other}.${claims}.${signature}`, 40101, /signed with/);
    }
  });

  test('whose header contains or references its own key is refused', async () => {
    const thief = await createThief();
    const claims = provider.claims();
    for (const header of [
      { jwk: thief.publicJwk },
      { jku: 'http://127.0.0.1:1/jwks' },
      { x5u: 'http://127.0.0.1:1/x5u' },
      { x5c: ['MIIB'] },
      { kid: '../../etc/passwd' },
      { kid: "' OR 1=1 --" },
      { kid: 'http://127.0.0.1:1/jwks' },
    ]) {
      const token = await thief.sign(claims, { kid: 'ES256-1', ...header });
      await refused(token, 40101, /signature is wrong|does not publish/);
    }
  });

  test('whose header has a critical extension is refused', async () => {
    const [, claims = '', signature = ''] = (await signed({})).split('.');
    for (const header of [
      { crit: ['exp'], exp: 1 },
      { crit: ['b64'], b64: false },
      { crit: [] },
      { crit: 'x' },
    ]) {
      const other = base64url.encode(JSON.stringify({ alg: 'ES256', kid: 'ES256-1', ...header }));
      await refused(`${other}.${claims}.${signature}`, 40101, /./);
    }
  });

  test('without a kid is refused when several keys match, and accepted when one does', async () => {
    await verify(await signed({}, { kid: undefined }));
    await provider.rotate('published');
    const { verify: later } = verifier();
    const token = await signed({}, { kid: undefined });
    await assert.rejects(later(token), { code: 40101, message: /does not name exactly one key/ });
    await later(await signed({}));
  });

  test('with any changed character is refused', async () => {
    const token = await signed({});
    const change = fc.tuple(fc.nat(token.length - 2), fc.constantFrom(...'AZaz09-_.'));
    await fc.assert(
      fc.asyncProperty(change, async ([at, character]) => {
        fc.pre(token[at] !== character);
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        await assert.rejects(verify(changed), (error) => error instanceof AppError && error.status === 401);
      }),
      { numRuns: 300 },
    );
  });

  test('of arbitrary parts is refused', async () => {
    const json = fc.oneof(fc.json(), fc.string(), fc.constantFrom('{}', '[]', 'null', '{"alg":"ES256"}'));
    const header = fc.record(
      {
        alg: fc.oneof(fc.constantFrom('ES256', 'RS256', 'none', 'HS256'), fc.anything()),
        kid: fc.oneof(fc.constantFrom('ES256-1', '', '__proto__'), fc.anything()),
        typ: fc.anything(),
        crit: fc.anything(),
        b64: fc.anything(),
      },
      { requiredKeys: [] },
    );
    const claims = fc.record(
      {
        iss: fc.oneof(fc.constant(provider.issuer), fc.anything()),
        aud: fc.oneof(fc.constant(AUDIENCE), fc.anything()),
        exp: fc.oneof(fc.constantFrom(1e10, 1e308, -1, null), fc.anything()),
        sub: fc.oneof(fc.string(), fc.anything()),
      },
      { requiredKeys: ['iss'] },
    );
    const part = (texts: fc.Arbitrary<unknown>) =>
      fc.oneof(json, texts.map(written)).map((text) => base64url.encode(text));
    const token = fc
      .tuple(part(header), part(claims), fc.oneof(fc.base64String(), fc.constant('')))
      .map((parts) => parts.join('.'));
    await fc.assert(
      fc.asyncProperty(token, async (text) => {
        await assert.rejects(verify(text), (error) => error instanceof AppError && error.status === 401);
      }),
      { numRuns: 500 },
    );
  });
});

/** JSON; empty for values that JSON cannot represent. */
function written(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}

/** An attacker with a key of their own. */
async function createThief() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  return {
    publicJwk: await exportJWK(publicKey),
    sign: (claims: Claims, header: object) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey),
  };
}
