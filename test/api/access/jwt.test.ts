import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { scopes } from '../../../src/access/scopes.ts';
import { startIdentityProvider } from '../../../testkit/identity/identity-provider.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { follow } from '../../../testkit/service/follower.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { startService } from '../../../testkit/service/service.ts';
import { listening } from '../../../testkit/sockets/socket-server.ts';

const provider = await startIdentityProvider(['ann', 'rosa']);
const service = await startService(provider.settings);
after(async () => {
  await service.stop();
  await provider.stop();
});

const list = (token: string) => service.request('GET', '/plants', { token });
const INVALID = 'Bearer realm="plant-store", error="invalid_token"';

test('users of the identity provider have plants of their own from their first request on', async () => {
  const [ann, rosa] = [await provider.token('ann'), await provider.token('rosa')];
  const plant = { id: 1, name: 'Alder' };
  succeeded(await service.request('POST', '/plants', { token: ann, body: plant }), 201);
  succeeded(await service.request('POST', '/plants', { token: rosa, body: { ...plant, name: 'Rose' } }), 201);
  assert.deepEqual(succeeded(await list(ann), 200), [{ name: 'Alder' }]);
  assert.deepEqual(succeeded(await list(rosa), 200), [{ name: 'Rose' }]);
  assert.deepEqual(succeeded(await list(await provider.token('ann', { alg: 'RS256' })), 200), [
    { name: 'Alder' },
  ]);
});

test('an opaque token and a JWT of one user see the same plants', async () => {
  const opaque = await service.tokenFor('rosa');
  const jwt = await provider.token('rosa');
  succeeded(await service.request('POST', '/plants', { token: opaque, body: { name: 'Oak' } }), 201);
  assert.deepEqual(succeeded(await list(opaque), 200), succeeded(await list(jwt), 200));
});

test('a JWT may do what its scopes say', async () => {
  const token = await provider.token('ann', { scope: 'plants:read' });
  succeeded(await list(token), 200);
  const answer = await service.request('POST', '/plants', { token, body: { name: 'Elm' } });
  failed(answer, 40300, /plants:write/);
  const none = await provider.sign(provider.claims({ scope: undefined, scp: 'plants:read' }));
  failed(await list(none), 40300);
});

test('/me tells when a JWT expires by its own claim, although clocks may differ', async () => {
  const exp = Math.floor(Date.now() / 1000) + 600;
  const token = await provider.sign(provider.claims({ exp }));
  const answer = await service.request('GET', '/me', { token });
  assert.deepEqual(succeeded(answer, 200), {
    user: 'ann',
    scopes,
    expiresAt: new Date(exp * 1000).toISOString(),
  });
});

test('a JWT that is accepted only for the clock skew gives no tokens, which would be of no use', async () => {
  const token = await provider.sign(provider.claims({ exp: Math.floor(Date.now() / 1000) - 10 }));
  succeeded(await service.request('GET', '/tokens', { token }), 200);
  failed(await service.request('POST', '/tokens', { token, body: {} }), 40102);
  const opaque = await service.tokenFor('ann');
  const { id } = Object(
    succeeded(await service.request('POST', '/tokens', { token: opaque, body: {} }), 201),
  );
  failed(await service.request('POST', `/tokens/${id}/rotate`, { token, body: {} }), 40102);
});

test('a JWT with a fractional or a huge expiry can create tokens', async () => {
  for (const [exp, expiresAt] of [
    [1.9e9 + 0.123456, '2030-03-17T17:46:40.123Z'],
    [1.79e15, '9999-12-31T23:59:59.000Z'],
  ] as const) {
    const token = await provider.sign(provider.claims({ exp }));
    assert.partialDeepStrictEqual(succeeded(await service.request('GET', '/me', { token }), 200), {
      expiresAt,
    });
    const body = { label: String(exp) };
    succeeded(await service.request('POST', '/tokens', { token, body }), 201);
    const listed = succeeded(await service.request('GET', '/tokens', { token }), 200);
    assert.partialDeepStrictEqual(listed, [{ ...body, expiresAt }]);
  }
});

test('a JWT that is not accepted is refused with the challenge of RFC 6750', async () => {
  for (const changes of [
    { aud: 'other' },
    { iss: 'https://id.example.org' },
    { sub: undefined },
    { nbf: 1e10 },
  ]) {
    const answer = await list(await provider.sign(provider.claims(changes)));
    failed(answer, 40101);
    assert.equal(answer.headers.get('www-authenticate'), INVALID);
  }
  const expired = await list(await provider.sign(provider.claims({ exp: 1 })));
  failed(expired, 40102);
  assert.equal(expired.headers.get('www-authenticate'), INVALID);
});

test('a JWT of up to 4 KiB is accepted and a longer one refused', async () => {
  const token = (length: number) => provider.sign(provider.claims({ padding: 'x'.repeat(length) }));
  const rest = 4096 - (await token(0)).length;
  const longest = await token(Math.floor((rest * 3) / 4) - 2);
  assert.ok(longest.length > 4090 && longest.length <= 4096);
  succeeded(await list(longest), 200);
  failed(await list(await token(rest)), 40005, /4096/);
});

test('a key that the provider has withdrawn is noticed without a restart', async () => {
  const token = await provider.token('ann');
  succeeded(await list(token), 200);
  await provider.rotate('withdrawn');
  // Keys are fetched at most every 30 s; a new service knows only the new ones.
  const later = await startService(provider.settings);
  try {
    failed(await later.request('GET', '/plants', { token }), 40101, /does not publish/);
    succeeded(await later.request('GET', '/plants', { token: await provider.token('ann') }), 200);
  } finally {
    await later.stop();
  }
});

test('a service whose provider is down starts, accepts opaque tokens, and answers a JWT with Retry-After', async () => {
  const token = await provider.sign(provider.claims());
  await provider.down();
  const alone = await startService(provider.settings);
  try {
    succeeded(await alone.request('GET', '/plants'), 200);
    const answer = await alone.request('GET', '/plants', { token });
    failed(answer, 50304, /identity provider cannot be reached/);
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-5]$/);
    assert.equal(answer.headers.get('www-authenticate'), null);
    // Users accepted before stay accepted.
    succeeded(await list(await service.tokenFor('ann')), 200);
  } finally {
    await alone.stop();
    await provider.up();
  }
});

test('a service stops at once while its provider does not answer', async () => {
  await using silent = await listening(
    createServer(() => {}),
    'http',
  );
  const issuer = `http://127.0.0.1:${silent.port}`;
  const waiting = await startService({ ...provider.settings, JWT_ISSUER: issuer });
  const token = await provider.sign(provider.claims({ iss: issuer }));
  const socket = connect(waiting.port, '127.0.0.1').setEncoding('utf8');
  const request = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  // Once a later connection has its answer, this one's second request waits for the provider.
  socket.write(request('/healthz') + request('/plants'));
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  const ended = once(socket, 'close');
  await once(socket, 'data');
  await waiting.request('GET', '/healthz');
  using watch = startWatch();
  await waiting.stop();
  await ended;
  assert.match(text, /^HTTP\/1\.1 200 .*"error":50304/s);
  assert.ok(watch.ms() < 3_000);
});

test('a stream ends when the user of its JWT is deleted, and creates no user of that name', async () => {
  const own = await startService(provider.settings);
  try {
    const follower = await follow(own, await provider.token('rosa'));
    await own.beside(async ({ store }) => {
      assert.equal(await store.access.deleteUser('rosa', Date.now()), true);
    });
    await follower.ended();
    await own.beside(async ({ store }) => assert.equal(await store.access.user('rosa'), undefined));
  } finally {
    await own.stop();
  }
});

test('a renewed JWT of a known user is accepted from an address with too many refused tokens', async () => {
  const limited = await startService({ ...provider.settings, AUTH_FAILURE_LIMIT: '3' });
  try {
    const ask = (token: string) => limited.request('GET', '/plants', { token });
    succeeded(await ask(await provider.token('ann')), 200);
    for (let n = 0; n < 3; n++) failed(await ask(`guess${n}`), 40101);
    failed(await ask('guess'), 42901);
    succeeded(await ask(await provider.token('ann')), 200);
    failed(await ask(await provider.token('rosa')), 42901);
  } finally {
    await limited.stop();
  }
});
