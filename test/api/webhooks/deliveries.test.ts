import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Receiver, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { succeeded } from '../../../testkit/service/answer.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import type { DeliveryAnswer } from '../../../testkit/service/owner.ts';
import { startService } from '../../../testkit/service/service.ts';
import {
  holding,
  NOWHERE,
  redeliver,
  testWebhook,
  webhookClient,
} from '../../../testkit/service/webhook-client.ts';

const service = await startService({
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_RETRY_SCHEDULE: '0s,0s',
});
after(() => service.stop());

async function withReceiver(work: (receiver: Receiver) => Promise<void>): Promise<void> {
  const receiver = await startReceiver();
  try {
    await work(receiver);
  } finally {
    await receiver.stop();
  }
}

const plantsOf = (deliveries: DeliveryAnswer[]) => deliveries.map(({ plant }) => plant.id);

test('a test event is signed and sent like any other, and is not in the feed', () =>
  withReceiver(async (receiver) => {
    const client = await webhookClient(service, 'tester');
    const { id } = await client.createWebhook({ url: receiver.url });
    const answer = await testWebhook(client, id);
    const { createdAt, event, ...made } = succeeded(answer, 202) as DeliveryAnswer;
    const { state, attempts, nextAttemptAt, ...rest } = made;
    const plant = { id: 0, name: 'Test plant', tag: 'test' };
    assert.deepEqual(rest, { webhook: id, type: 'plant.test', plant });
    assert.equal(answer.headers.get('location'), `/webhooks/${id}/deliveries/${event}`);

    const [request] = await receiver.receive(1);
    assert.equal(request?.body.toString(), '{"id":0,"name":"Test plant","tag":"test"}');
    assert.equal(request?.headers['ce-type'], 'plant.test');
    assert.equal(request?.headers['webhook-id'], event);

    const delivered = await client.newestIn(id, 'delivered');
    assert.deepEqual(delivered, { event, createdAt, ...rest, state: 'delivered', attempts: 1 });
    const { history, ...same } = await client.delivery(id, event);
    assert.deepEqual(same, delivered);
    const [attempt] = history;
    assert.equal(history.length, 1);
    assert.equal(attempt?.status, 204);
    assert.equal(attempt?.address, '127.0.0.1');
    assert.ok(attempt.durationMs >= 0 && !('error' in attempt));
    assert.ok(Date.parse(attempt.at) >= Date.parse(createdAt));
    const { lastSuccessAt = '', lastFailureAt } = await client.webhook(id);
    assert.ok(lastSuccessAt >= attempt.at && lastFailureAt === undefined);

    assert.deepEqual(JSON.parse((await client.send('GET', '/events')).text).events, []);
    const other = await client.createWebhook({ url: NOWHERE });
    assert.deepEqual(await client.deliveries(other.id), []);
  }));

test('the test event of a disabled webhook is held', async () => {
  const client = await webhookClient(service, 'held-tester');
  const id = await holding(client);
  const { state, attempts, nextAttemptAt } = succeeded(await testWebhook(client, id), 202) as DeliveryAnswer;
  assert.deepEqual(
    { state, attempts, nextAttemptAt },
    { state: 'held', attempts: 0, nextAttemptAt: undefined },
  );
});

test('a failed delivery says why, and shows every attempt', () =>
  withReceiver(async (receiver) => {
    const client = await webhookClient(service, 'failing');
    const { id } = await client.createWebhook({ url: receiver.url });
    receiver.script('reset', { status: 500, body: 'Out of "order" 🌱' });
    await client.createPlant('{"name":"Alder","tag":"Alnus","id":9007199254740993}');
    const { event, reason, attempts, nextAttemptAt } = await client.newestIn(id, 'failed');
    assert.equal(attempts, 2);
    assert.equal(nextAttemptAt, undefined);
    const { history } = await client.delivery(id, event);
    const [first, second] = history;
    assert.equal(history.length, 2);
    assert.equal(first?.status, undefined);
    assert.match(first?.error ?? '', /closed/);
    assert.deepEqual([second?.status, second?.excerpt, second?.error], [500, 'Out of "order" 🌱', undefined]);
    assert.match(reason ?? '', /500/);
    assert.ok((first?.at ?? '') <= (second?.at ?? ''));

    const { failed: count, waiting, lastFailureAt, lastSuccessAt } = await client.webhook(id);
    assert.deepEqual([count, waiting, lastSuccessAt], [1, 0, undefined]);
    assert.ok(lastFailureAt);
    const { text } = await client.send('GET', `/webhooks/${id}/deliveries`);
    assert.ok(text.includes('"plant":{"id":9007199254740993,"name":"Alder","tag":"Alnus"}'), text);
  }));

test('a delivery can be resent in every state', () =>
  withReceiver(async (receiver) => {
    const client = await webhookClient(service, 'again');
    const { id } = await client.createWebhook({ url: receiver.url });
    const again = async (event: string) => {
      const answer = await redeliver(client, id, event);
      assert.equal(answer.headers.get('location'), `/webhooks/${id}/deliveries/${event}`);
      const delivery = succeeded(answer, 202) as DeliveryAnswer;
      assert.equal(delivery.event, event);
      return delivery;
    };
    receiver.script({ status: 500 }, { status: 500 });
    await client.createPlant({ name: 'Alder', id: 1 });
    const { event } = await client.newestIn(id, 'failed');

    assert.equal((await again(event)).state, 'pending');
    const delivered = await client.newestIn(id, 'delivered');
    assert.deepEqual([delivered.attempts, delivered.reason], [3, undefined]);

    assert.equal((await again(event)).state, 'pending');
    await receiver.receive(4);
    assert.equal((await client.newestIn(id, 'delivered')).attempts, 4);

    succeeded(await client.send('PATCH', `/webhooks/${id}`, { enabled: false }), 200);
    assert.equal((await again(event)).state, 'held');
    assert.equal((await again(event)).state, 'held');
    assert.equal((await client.webhook(id)).waiting, 1);
    succeeded(await client.send('PATCH', `/webhooks/${id}`, { enabled: true }), 200);
    await receiver.receive(5);

    receiver.usually('hang');
    await again(event);
    await receiver.receive(6);
    receiver.usually({ status: 204 });
    // It is being sent, and is sent once more after that.
    assert.equal((await again(event)).state, 'pending');
    const ids = (await receiver.receive(7)).map(({ headers }) => headers['webhook-id']);
    assert.deepEqual(new Set(ids), new Set([event]));
  }));

test('a pause that the receiver requests is shown, and no delivery is due before it ends', () =>
  withReceiver(async (receiver) => {
    const client = await webhookClient(service, 'paused');
    const { id } = await client.createWebhook({ url: receiver.url });
    receiver.script({ status: 429, headers: { 'retry-after': '3600' } });
    await client.createPlant({ name: 'Alder', id: 1 });
    const pausedUntil = await eventually('pause', async () => (await client.webhook(id)).pausedUntil);
    assert.ok(Math.abs(Date.parse(pausedUntil) - Date.now() - 3_600_000) < 20_000);
    await client.createPlant({ name: 'Alder', id: 2 });
    assert.equal((await client.webhook(id)).status, 'enabled');
    assert.deepEqual(plantsOf(await client.deliveries(id)), [2, 1]);
    for (const { state, nextAttemptAt = '' } of await client.deliveries(id)) {
      assert.equal(state, 'pending');
      assert.ok(nextAttemptAt >= pausedUntil, `${nextAttemptAt} ${pausedUntil}`);
    }

    succeeded(await client.send('PATCH', `/webhooks/${id}`, { enabled: true }), 200);
    assert.equal((await client.webhook(id)).pausedUntil, undefined);
    await receiver.receive(2);
  }));

test('deliveries are listed newest first, page by page', async () => {
  const client = await webhookClient(service, 'lister');
  const id = await holding(client, 1, 2, 3, 4, 5);
  assert.deepEqual(plantsOf(await client.deliveries(id)), [5, 4, 3, 2, 1]);
  const pages: number[][] = [];
  for (let path: string | undefined = `/webhooks/${id}/deliveries?state=held&limit=2`; path !== undefined; ) {
    const answer = await client.send('GET', path);
    pages.push(plantsOf(succeeded(answer, 200) as DeliveryAnswer[]));
    path = /^<(\/webhooks\/.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
    // New deliveries come before the page that was read.
    if (pages.length === 1) await client.createPlant({ name: 'Alder', id: 6 });
  }
  assert.deepEqual(pages, [[5, 4], [3, 2], [1]]);
  const whole = await client.send('GET', `/webhooks/${id}/deliveries?limit=6`);
  assert.equal(whole.headers.get('link'), null);
  assert.equal(plantsOf(JSON.parse(whole.text)).length, 6);
  const head = await client.send('HEAD', `/webhooks/${id}/deliveries?limit=1`);
  assert.deepEqual([head.status, head.text], [200, '']);
  assert.match(head.headers.get('link') ?? '', /rel="next"/);
});

test('a page has 100 deliveries by default', async () => {
  const client = await webhookClient(service, 'pager');
  const { id } = await client.createWebhook({ url: NOWHERE });
  succeeded(await client.send('PATCH', `/webhooks/${id}`, { enabled: false }), 200);
  await Promise.all(Array.from({ length: 101 }, () => client.createPlant({ name: 'Alder' })));
  assert.equal((await client.deliveries(id)).length, 100);
  assert.equal((await client.deliveries(id, '?limit=1000')).length, 101);
});

test('a state picks the deliveries in it', () =>
  withReceiver(async (receiver) => {
    const client = await webhookClient(service, 'stateful');
    const { id } = await client.createWebhook({ url: receiver.url });
    const inState = async (state: string) => plantsOf(await client.deliveries(id, `?state=${state}`));
    await client.createPlant({ name: 'Alder', id: 1 });
    await client.newestIn(id, 'delivered');
    receiver.usually({ status: 500 });
    await client.createPlant({ name: 'Alder', id: 2 });
    await client.newestIn(id, 'failed');
    succeeded(await client.send('PATCH', `/webhooks/${id}`, { enabled: false }), 200);
    await client.createPlant({ name: 'Alder', id: 3 });
    assert.deepEqual(await inState('delivered'), [1]);
    assert.deepEqual(await inState('failed'), [2]);
    assert.deepEqual(await inState('held'), [3]);
    assert.deepEqual(await inState('pending'), []);
  }));
