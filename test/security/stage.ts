import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { scopes } from '../../src/access/scopes.ts';
import { createToken } from '../../src/access/tokens.ts';
import type { Environment } from '../../src/config/config.ts';
import { type IdentityProvider, startIdentityProvider } from '../../testkit/identity/identity-provider.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import { type Receiver, startReceiver } from '../../testkit/receivers/receiver.ts';
import { beside } from '../../testkit/service/service.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';
import type { Canary } from './canaries.ts';
import type { Contents } from './usage.ts';

/** Where services with secrets run, and the secrets. */
export type Stage = {
  place: Place;
  receiver: Receiver;
  settings: Record<string, string>;
  /** The authorization of the user who uses everything. */
  authorization: string;
  bootstrap: Canary;
  /** With its id for the command line. */
  revoked: Canary & { id: string };
  /** The first is valid; the last is the content of them all. */
  jwts: Canary[];
  /** All opaque tokens among the above. */
  opaque: Canary[];
  contents: Contents;
};

const USER = 'ann';

/** Ends with the test. */
export async function setUp(t: TestContext): Promise<Stage> {
  const [place, receiver] = [await makePlace(t), await startReceiver()];
  const provider = await startIdentityProvider();
  t.after(() => Promise.all([receiver.stop(), provider.stop()]));
  const bootstrap = canary('the bootstrap token');
  const { good, revoked } = await opaqueTokens(place);
  const texts = ['name', 'tag', 'description', 'query', 'excerpt', 'key'].map((name) => [
    name,
    canary('').text,
  ]);
  return {
    place,
    receiver,
    settings: {
      BOOTSTRAP_TOKEN: bootstrap.text,
      LOG_LEVEL: 'debug',
      METRICS_PORT: String(await freePort()),
      LOG_FORMAT: 'json',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      WEBHOOK_RETRY_SCHEDULE: '0s,0s',
      ...withoutGaps(provider.settings),
    },
    authorization: `Bearer ${good.text}`,
    bootstrap,
    revoked,
    jwts: await jwtsOf(provider),
    opaque: [bootstrap, good, revoked],
    // The names are those of the members.
    contents: Object.fromEntries(texts) as Contents,
  };
}

function canary(name: string): Canary {
  return { name, text: randomBytes(24).toString('hex') };
}

/** Created directly in the store, before the service starts. */
async function opaqueTokens({ dataDir }: Place): Promise<Pick<Stage, 'revoked'> & { good: Canary }> {
  await mkdir(dataDir);
  return beside(dataDir, async ({ store, runtime }) => {
    const access = { store: store.access, runtime };
    await store.access.createUser({ name: USER, at: runtime.clock.now() });
    const [good, revoked] = [
      await createToken(access, { user: USER, label: '', scopes }),
      await createToken(access, { user: USER, label: '', scopes }),
    ];
    assert.ok(good !== undefined && revoked !== undefined);
    await store.access.revokeToken(revoked.id, runtime.clock.now());
    return {
      good: { name: 'a token', text: good.token },
      revoked: { name: 'a revoked token', text: revoked.token, id: revoked.id },
    };
  });
}

/** Valid and invalid ones, and the content of them all. */
async function jwtsOf(provider: IdentityProvider): Promise<Canary[]> {
  const { text: jti } = canary('');
  const sign = (changes: object, header = {}) =>
    provider.sign(provider.claims({ sub: 'iris', jti, ...changes }), header);
  const good = await sign({});
  const [, payload, signature] = good.split('.');
  const unsigned = Buffer.from('{"alg":"none"}').toString('base64url');
  return Object.entries({
    'a JWT': good,
    'a JWT of the provider': await provider.token('ann'),
    'a JWT that has expired': await sign({ exp: 1_000_000_000 }),
    'a JWT for another audience': await sign({ aud: 'https://other.example.org' }),
    'a JWT of another issuer': await sign({ iss: 'https://other.example.org' }),
    'a JWT without scopes': await sign({ scope: '' }),
    'a JWT without a user': await sign({ sub: undefined }),
    'a JWT for a user whose name cannot be one': await sign({ sub: ` ${jti}` }),
    'a JWT whose key is unknown': await sign({}, { kid: 'unknown' }),
    'a JWT that was changed': `${good.slice(0, good.lastIndexOf('.'))}.${signature?.split('').reverse().join('')}`,
    'a JWT that nobody signed': `${unsigned}.${payload}.`,
    'a JWT whose claims are not JSON': `${unsigned}.${Buffer.from(jti).toString('base64url')}.x`,
    'what is in a JWT': jti,
  }).map(([name, text]) => ({ name, text }));
}

function withoutGaps(settings: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, value ?? '']));
}
