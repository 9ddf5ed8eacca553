import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { scopes } from '../../src/access/scopes.ts';
import { failed, succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';

const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
after(() => service.stop());

const KEY = '"a-key-that-two-use"';
const WEBHOOK = { url: 'http://127.0.0.1:9/' };

function createWebhook(token: string) {
  return service.request('POST', '/webhooks', { token, headers: { 'idempotency-key': KEY }, body: WEBHOOK });
}

test("one user's stored answer is returned to no other", async () => {
  const [ann, bob] = [await service.tokenFor('ann'), await service.tokenFor('bob')];
  const [first, second] = [await createWebhook(ann), await createWebhook(bob)];
  succeeded(first, 201);
  succeeded(second, 201);
  assert.equal(second.headers.get('idempotent-replayed'), null);
  assert.notEqual(JSON.parse(first.text).secret, JSON.parse(second.text).secret);

  const again = await createWebhook(ann);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal(again.text, first.text);
});

test('a stored answer is returned only to a token with the scope', async () => {
  succeeded(await createWebhook(await service.tokenFor('carol')), 201);
  const reading = await service.tokenFor('carol', { scopes: ['webhooks:read', 'plants:write'] });
  failed(await createWebhook(reading), 40300);
  failed(await createWebhook(await service.tokenFor('carol', { expiresInMs: -1 })), 40102);
  failed(await createWebhook(`${reading}x`), 40101);
});

test('a stored answer is not returned to a later user of the same name', async () => {
  const first = await createWebhook(await service.tokenFor('dora'));
  await service.beside(({ store, runtime }) => store.access.deleteUser('dora', runtime.clock.now()));
  await service.beside(async ({ store, runtime }) => {
    while (await store.chores.hasChores(runtime.clock.now())) {
      await store.chores.advance({ now: runtime.clock.now(), limit: 500 });
    }
  });
  const second = await createWebhook(await service.tokenFor('dora', { scopes }));
  succeeded(second, 201);
  assert.equal(second.headers.get('idempotent-replayed'), null);
  assert.notEqual(JSON.parse(first.text).secret, JSON.parse(second.text).secret);
});

test('an answer with a secret is not cacheable, and neither is its replay', async () => {
  const token = await service.tokenFor('erik');
  for (const isRepetition of [false, true]) {
    const answer = await createWebhook(token);
    assert.equal(answer.headers.has('idempotent-replayed'), isRepetition);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
  }
});
