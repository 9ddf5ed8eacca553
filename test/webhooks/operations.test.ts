import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import type { Store } from '../../src/store/store.ts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  rotateSecret,
  type WebhooksContext,
} from '../../src/webhooks/operations.ts';
import { createTarget } from '../../src/webhooks/sending/target.ts';
import { viewOf } from '../../src/webhooks/webhook.ts';
import { openTemporaryStore } from '../../testkit/stores/temporary-store.ts';

const runtime = systemRuntime(silentLog);
const target = createTarget({ allowed: [], resolve: () => Promise.reject(new Error('no such name')) });
let store: Store;
let drop: () => Promise<void>;

before(async () => {
  ({ store, drop } = await openTemporaryStore());
});
after(() => drop());

async function newContext() {
  const user = await store.access.createUser({ name: runtime.ids.next('tok'), at: 0 });
  assert.ok(user);
  const { webhooks, deliveries, events } = store;
  const context: WebhooksContext = {
    webhooks,
    deliveries,
    events,
    runtime,
    target,
    deliveryDelayMs: 0,
  };
  return { context, owner: user.id };
}

test('a webhook is created with its own keys, and its secret is not listed', async () => {
  const { context, owner } = await newContext();
  const one = await createWebhook(context, owner, { url: 'https://a.example/', description: 'first' });
  const two = await createWebhook(context, owner, { url: 'https://b.example/' });
  assert.match(one.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(one.secret, two.secret);
  assert.notEqual(one.webhook.publicKey, two.webhook.publicKey);
  const listed = await listWebhooks(context, owner);
  assert.deepEqual(
    listed.map(({ webhook }) => webhook),
    [one.webhook, two.webhook],
  );
  assert.doesNotMatch(JSON.stringify(listed), /whsec_|whsk_/);
});

test('an answer about a webhook has no owner, and no absent members', async () => {
  const { context, owner } = await newContext();
  const { webhook, health } = await createWebhook(context, owner, { url: 'https://a.example/' });
  const view = viewOf({ webhook, health }, runtime.clock.now());
  assert.deepEqual(JSON.parse(JSON.stringify(view)), {
    id: webhook.id,
    url: 'https://a.example/',
    status: 'enabled',
    publicKey: webhook.publicKey,
    createdAt: new Date(webhook.createdAt).toISOString(),
    waiting: 0,
    failed: 0,
  });
  assert.equal(viewOf({ webhook: { ...webhook, description: '' }, health }, 0).description, '');
});

test('a change fails before it is made when the deliveries of the webhook cannot be counted', async () => {
  const { context, owner } = await newContext();
  const { webhook } = await createWebhook(context, owner, { url: 'https://a.example/', description: 'old' });
  const health = () => Promise.reject(new Error('the store cannot be read'));
  const uncounted = { ...context, deliveries: { ...context.deliveries, health } };
  await assert.rejects(changeWebhook(uncounted, owner, webhook.id, { description: 'new' }), /cannot be read/);
  const [listed] = await listWebhooks(context, owner);
  assert.equal(listed?.webhook.description, 'old');
});

test('an answer shows a pause only while it lasts, and ages in whole, non-negative seconds', async () => {
  const { context, owner } = await newContext();
  const { webhook } = await createWebhook(context, owner, { url: 'https://a.example/' });
  const paused = {
    webhook: { ...webhook, pausedUntil: 10_000 },
    health: { waiting: 1, failed: 0, oldestWaitingAt: 5000 },
  };
  const shown = (now: number) => {
    const { pausedUntil, oldestWaitingAge } = viewOf(paused, now);
    return [pausedUntil, oldestWaitingAge];
  };
  assert.deepEqual(shown(9999), ['1970-01-01T00:00:10.000Z', 4]);
  assert.deepEqual(shown(10_000), [undefined, 5]);
  assert.deepEqual(shown(4000), ['1970-01-01T00:00:10.000Z', 0]);
});

test('a webhook deleted during an operation is not found', async () => {
  const { context, owner } = await newContext();
  const { webhook } = await createWebhook(context, owner, { url: 'https://a.example/' });
  let deleted = false;
  const slow: WebhooksContext = {
    ...context,
    target: {
      ...target,
      async check() {
        deleted = await store.webhooks.deleteWebhook(owner, webhook.id);
      },
    },
  };
  await assert.rejects(changeWebhook(slow, owner, webhook.id, { url: 'https://b.example/' }), {
    code: 40402,
  });
  assert.ok(deleted);
  await assert.rejects(rotateSecret(context, owner, webhook.id, {}), { code: 40402 });
});

test('no webhook is created for a forbidden URL', async () => {
  const { context, owner } = await newContext();
  await assert.rejects(createWebhook(context, owner, { url: 'https://127.0.0.1/' }), { code: 42201 });
  assert.deepEqual(await listWebhooks(context, owner), []);
});

test('only its owner sees and deletes a webhook, and only once', async () => {
  const { context, owner } = await newContext();
  const { owner: other } = await newContext();
  const { webhook } = await createWebhook(context, owner, { url: 'https://a.example/' });
  assert.deepEqual(await listWebhooks(context, other), []);
  await assert.rejects(deleteWebhook(context, other, webhook.id), { code: 40402 });
  await deleteWebhook(context, owner, webhook.id);
  await assert.rejects(deleteWebhook(context, owner, webhook.id), { code: 40402 });
  assert.deepEqual(await listWebhooks(context, owner), []);
});
