import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';

const GARDEN = 'https://garden.example.org';
const service = await startService({ CORS_ORIGINS: `${GARDEN}, http://localhost:5173` });
const closed = await startService();
after(() => Promise.all([service.stop(), closed.stop()]));

/** What a browser sends first, without a token. */
const preflight = (origin: string, at = service) =>
  at.request('OPTIONS', '/plants', {
    token: null,
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });

test('a page of an origin that the settings name may call the API and read what it says', async () => {
  for (const origin of [GARDEN, 'http://localhost:5173']) {
    const asked = await preflight(origin);
    assert.equal(asked.status, 204);
    assert.match(asked.headers.get('allow') ?? '', /POST/);
    assert.equal(asked.headers.get('access-control-allow-origin'), origin);
    assert.match(asked.headers.get('access-control-allow-methods') ?? '', /POST/);
    assert.match(asked.headers.get('access-control-allow-headers') ?? '', /authorization.*idempotency-key/);
    const made = await service.request('POST', '/plants', { body: { name: 'Alder' }, headers: { origin } });
    succeeded(made, 201);
    assert.equal(made.headers.get('access-control-allow-origin'), origin);
    assert.match(made.headers.get('access-control-expose-headers') ?? '', /location/);
    assert.equal(made.headers.get('access-control-allow-credentials'), null);
    assert.equal(made.headers.get('vary'), 'origin');
  }
});

test('failures are as readable as successes', async () => {
  const headers = { origin: GARDEN };
  for (const [answer, code] of [
    [await service.request('GET', '/plants', { token: null, headers }), 40100],
    [await service.request('GET', '/nowhere', { headers }), 40400],
    [await service.request('POST', '/plants', { body: '{', headers }), 40001],
  ] as const) {
    failed(answer, code);
    assert.equal(answer.headers.get('access-control-allow-origin'), GARDEN);
  }
});

test('what is cached of a page varies by origin as well as by encoding', async () => {
  for (const path of ['/docs/', '/docs/tutorial', '/console/']) {
    const answer = await service.request('GET', path, { token: null, headers: { origin: GARDEN } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('access-control-allow-origin'), GARDEN);
    assert.equal(answer.headers.get('vary'), 'origin, accept-encoding');
    assert.equal((await closed.request('GET', path)).headers.get('vary'), 'accept-encoding');
  }
});

test('a page of any other origin learns nothing', async () => {
  for (const origin of ['https://evil.example', `${GARDEN}:8443`, `${GARDEN}.evil.example`, 'null', '*']) {
    const asked = await preflight(origin);
    assert.equal(asked.headers.get('access-control-allow-origin'), null);
    assert.equal(asked.headers.get('access-control-allow-methods'), null);
    const answer = await service.request('GET', '/plants', { headers: { origin } });
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
    assert.equal(answer.headers.get('vary'), 'origin');
  }
});

test('without the setting no page of another origin may call the API', async () => {
  assert.equal((await preflight(GARDEN, closed)).headers.get('access-control-allow-origin'), null);
  const answer = await closed.request('GET', '/plants', { headers: { origin: GARDEN } });
  assert.equal(answer.headers.get('access-control-allow-origin'), null);
  assert.equal(answer.headers.get('vary'), null);
});
