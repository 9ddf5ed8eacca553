import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlace } from '../../testkit/processes/place.ts';
import { failed, succeeded } from '../../testkit/service/answer.ts';

test('a second server on a data folder is refused in one line, until the first one has ended or been killed', async (t) => {
  const place = await makePlace(t);
  const first = await place.serve();
  const { code, stderr } = await place.serveInVain();
  assert.equal(code, 1);
  assert.match(stderr, /^error: Another plant-store server is running on [^\n]*\n$/);
  assert.ok(stderr.includes(place.dataDir));
  succeeded(await first.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
  await first.kill();

  const next = await place.serve();
  assert.deepEqual(succeeded(await next.request('GET', '/plants'), 200), [{ name: 'Alder' }]);
});

test('a user and a token created on the command line are accepted by the running server at once', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve();
  assert.equal((await place.command('user', 'create', 'ann')).code, 0);
  const made = await place.command('token', 'create', '--user', 'ann', '--scopes', 'plants:read');
  const token = made.stdout.trim();
  assert.deepEqual(succeeded(await server.request('GET', '/plants', { token }), 200), []);
  failed(await server.request('POST', '/plants', { token, body: { name: 'Alder' } }), 40300);
});

test('a token revoked on the command line is refused on the next request to the running server', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve();
  await place.command('user', 'create', 'ann');
  const made = await place.command('token', 'create', '--user', 'ann');
  const token = made.stdout.trim();
  // The server caches the token's user.
  succeeded(await server.request('GET', '/plants', { token }), 200);

  const id = /tok_\w+/.exec(made.stderr)?.[0] ?? '';
  assert.equal((await place.command('token', 'revoke', id)).code, 0);
  failed(await server.request('GET', '/plants', { token }), 40101);
  succeeded(await server.request('GET', '/plants'), 200);
});
