import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Answer, failed, succeeded } from '../../../testkit/service/answer.ts';
import { follow } from '../../../testkit/service/follower.ts';
import { startService } from '../../../testkit/service/service.ts';
import { openRaw } from '../../../testkit/sockets/raw-client.ts';
import { head } from '../../../testkit/sockets/raw-request.ts';

// An hour, so that no window ends during a test.
const service = await startService({ RATE_LIMIT: '5/1h' });
after(() => service.stop());

const { request } = service;

/** The remaining quota in the answer. */
function left(answer: Answer): number {
  assert.equal(answer.headers.get('ratelimit-policy'), '"default";q=5;w=3600');
  const [, r, t] = /^"default";r=(\d+);t=(\d+)$/.exec(answer.headers.get('ratelimit') ?? '') ?? [];
  assert.ok(Number(t) > 3500 && Number(t) <= 3600, `t=${t}`);
  return Number(r);
}

function isSilent({ headers }: Answer): void {
  assert.equal(headers.get('ratelimit'), null);
  assert.equal(headers.get('ratelimit-policy'), null);
}

test('a token may send as many requests as allowed, and each answer says how many are left', async () => {
  const token = await service.tokenFor('ann');
  const remaining: number[] = [];
  for (let n = 0; n < 5; n++) {
    const answer = await request('GET', '/plants', { token });
    succeeded(answer, 200);
    remaining.push(left(answer));
  }
  assert.deepEqual(remaining, [4, 3, 2, 1, 0]);

  const refused = await request('GET', '/plants', { token });
  failed(refused, 42900, /5 requests in 3600 s.*again in 3\d\d\d s/);
  assert.equal(left(refused), 0);
  const [, t] = /t=(\d+)/.exec(refused.headers.get('ratelimit') ?? '') ?? [];
  assert.equal(refused.headers.get('retry-after'), t);
});

test('a refused request is not carried out', async () => {
  const token = await service.tokenFor('bob');
  const create = () => request('POST', '/plants', { token, body: { name: 'Alder' } });
  for (let n = 0; n < 5; n++) succeeded(await create(), 201);
  failed(await create(), 42900);
  const other = await service.tokenFor('bob');
  const { length } = succeeded(await request('GET', '/plants', { token: other }), 200) as unknown[];
  assert.equal(length, 5);
});

test('failures count, and say what is left, too', async () => {
  const token = await service.tokenFor('carol', { scopes: ['plants:read'] });
  const forbidden = await request('POST', '/plants', { token, body: { name: 'Alder' } });
  failed(forbidden, 40300);
  const malformed = await request('GET', '/plants?limit=0', { token });
  failed(malformed, 40003);
  const missing = await request('DELETE', '/plants/7', { token });
  failed(missing, 40300);
  const listed = await request('GET', '/plants?limit=1', { token });
  assert.deepEqual([forbidden, malformed, missing, listed].map(left), [4, 3, 2, 1]);
});

test('a streamed list and a HEAD say it too', async () => {
  const token = await service.tokenFor('dora');
  assert.equal(left(await request('GET', '/plants', { token })), 4);
  assert.equal(left(await request('HEAD', '/plants', { token })), 3);
});

test('each token has a quota of its own', async () => {
  const [first, second] = [await service.tokenFor('eve'), await service.tokenFor('eve')];
  for (let n = 0; n < 6; n++) await request('GET', '/plants', { token: first });
  failed(await request('GET', '/plants', { token: first }), 42900);
  assert.equal(left(await request('GET', '/plants', { token: second })), 4);
});

test('pipelined requests are counted one by one', async () => {
  const token = await service.tokenFor('fay');
  const connection = await openRaw(service.port);
  const one = head('GET /plants HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`);
  await connection.send(one.repeat(8));
  const statuses: number[] = [];
  for (let n = 0; n < 8; n++) statuses.push((await connection.answer()).status);
  connection.close();
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
});

test('requests that need no token, or have no valid one, are not counted', async () => {
  for (const path of ['/healthz', '/readyz', '/openapi.json']) isSilent(await request('GET', path));
  isSilent(await request('GET', '/plants', { token: null }));
  isSilent(await request('GET', '/plants', { token: 'unknown' }));
  for (let n = 0; n < 10; n++) succeeded(await request('GET', '/healthz'), 200);
});

test('without the setting nothing is counted or announced', async () => {
  const unlimited = await startService();
  for (let n = 0; n < 10; n++) isSilent(await unlimited.request('GET', '/plants'));
  await unlimited.stop();
});

test('an event stream counts as one request, however long it lasts', async () => {
  const token = await service.tokenFor('follower');
  const follower = await follow(service, token);
  await service.beside(async ({ store, runtime }) => {
    const owner = (await store.access.user('follower'))?.id ?? 0;
    for (let n = 0; n < 8; n++) {
      const event = runtime.ids.next('evt');
      await store.plants.create({ owner, id: undefined, name: 'Alder', tag: undefined, event, at: 0 });
    }
  });
  for (let n = 0; n < 8; n++) await follower.event();
  follower.close();
  assert.equal(left(await request('GET', '/plants', { token })), 3);
});
