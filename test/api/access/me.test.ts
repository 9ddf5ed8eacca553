import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { scopes } from '../../../src/access/scopes.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';

const service = await startService();
after(() => service.stop());

test("/me returns the token's user and scopes", async () => {
  assert.deepEqual(succeeded(await service.request('GET', '/me'), 200), { user: 'admin', scopes });
  const token = await service.tokenFor('ann', { scopes: ['webhooks:read', 'plants:read'] });
  assert.deepEqual(succeeded(await service.request('GET', '/me', { token }), 200), {
    user: 'ann',
    scopes: ['plants:read', 'webhooks:read'],
  });
});

test('a token without any scope may call /me', async () => {
  const token = await service.tokenFor('powerless', { scopes: [] });
  const answer = await service.request('GET', '/me', { token });
  assert.deepEqual(succeeded(answer, 200), { user: 'powerless', scopes: [] });
});

test('/me returns when the token expires', async () => {
  const before = Date.now();
  const token = await service.tokenFor('early', { expiresInMs: 3_600_000 });
  const answer = await service.request('GET', '/me', { token });
  // The shape in the OpenAPI document.
  const { expiresAt } = succeeded(answer, 200) as { expiresAt: string };
  const endsIn = Date.parse(expiresAt) - before;
  assert.ok(endsIn >= 3_600_000 && endsIn < 3_660_000, expiresAt);
});

test('nothing is revealed without a valid token', async () => {
  failed(await service.request('GET', '/me', { token: null }), 40100);
  failed(await service.request('GET', '/me', { token: 'x' }), 40101);
  failed(await service.request('GET', '/me?user=ann'), 40003);
});
