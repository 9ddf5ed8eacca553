import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Receiver, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { startService } from '../../../testkit/service/service.ts';
import { type WebhookClient, webhookClient } from '../../../testkit/service/webhook-client.ts';

const service = await startService({
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_RETRY_SCHEDULE: '0s',
});
after(() => service.stop());

const LONG_AGO = '1970-01-01T00:00:00Z';

const replay = (client: WebhookClient, id: string, body: unknown) =>
  client.send('POST', `/webhooks/${id}/replay`, body);

async function replayed(client: WebhookClient, id: string, body: unknown): Promise<unknown> {
  return succeeded(await replay(client, id, body), 202);
}

async function withReceiver(work: (receiver: Receiver) => Promise<void>): Promise<void> {
  const receiver = await startReceiver();
  try {
    await work(receiver);
  } finally {
    await receiver.stop();
  }
}

/** Waits until outcomes are recorded as well: a replay skips pending deliveries. */
const settled = (client: WebhookClient, id: string) =>
  eventually('end of the deliveries', async () => (await client.webhook(id)).waiting === 0 || undefined);

const plantsOf = (received: Receiver['received']) =>
  received.map(({ body }) => JSON.parse(body.toString()).id).sort((a, b) => a - b);

/** When the plant was created, according to its event. */
async function timeOf(client: WebhookClient, plant: number): Promise<string> {
  const { events } = JSON.parse((await client.send('GET', '/events?limit=1000')).text);
  return events.find((event: { plant: { id: number } }) => event.plant.id === plant).createdAt;
}

/** Creates plants at different times. */
async function plantsApart(client: WebhookClient, ...ids: number[]): Promise<void> {
  for (const id of ids) {
    await client.createPlant({ name: 'Alder', id });
    const made = Date.parse(await timeOf(client, id));
    await eventually('later millisecond', async () => Date.now() > made || undefined);
  }
}

test('every event since a time is resent, even from before the webhook was created', () =>
  withReceiver(async (receiver) => {
    const client = await webhookClient(service, 'replayer');
    await plantsApart(client, 1, 2, 3, 4);
    const { id } = await client.createWebhook({ url: receiver.url });
    const since = await timeOf(client, 3);
    assert.deepEqual(await replayed(client, id, { since }), { count: 2 });
    assert.deepEqual(plantsOf(await receiver.receive(2)), [3, 4]);
    await settled(client, id);

    // The same moment in another time zone, and one millisecond later.
    const moved = new Date(Date.parse(since) + 7_200_001).toISOString().replace('Z', '+02:00');
    assert.deepEqual(await replayed(client, id, { since: moved }), { count: 1 });
    assert.deepEqual(plantsOf((await receiver.receive(3)).slice(2)), [4]);
    await settled(client, id);
    assert.deepEqual(await replayed(client, id, { since: LONG_AGO }), { count: 4 });
    assert.deepEqual(plantsOf((await receiver.receive(7)).slice(3)), [1, 2, 3, 4]);
    assert.deepEqual(await replayed(client, id, { since: '9999-12-31T23:59:59Z' }), { count: 0 });
    assert.deepEqual(await replayed(client, id, { since: '0000-01-01T00:00:00+01:00' }), { count: 4 });
  }));

test('a state picks the deliveries to resend', () =>
  withReceiver(async (receiver) => {
    const client = await webhookClient(service, 'picker');
    const { id } = await client.createWebhook({ url: receiver.url });
    await client.createPlant({ name: 'Alder', id: 1 });
    await client.newestIn(id, 'delivered');
    receiver.usually({ status: 500 });
    for (const plant of [2, 3]) {
      await client.createPlant({ name: 'Alder', id: plant });
      await client.newestIn(id, 'failed');
    }
    receiver.usually({ status: 204 });
    assert.deepEqual(await replayed(client, id, { since: LONG_AGO, state: 'held' }), { count: 0 });
    assert.deepEqual(await replayed(client, id, { since: LONG_AGO, state: 'failed' }), { count: 2 });
    assert.deepEqual(plantsOf((await receiver.receive(5)).slice(3)), [2, 3]);
    await settled(client, id);
    assert.deepEqual(await replayed(client, id, { since: LONG_AGO, state: 'failed' }), { count: 0 });
  }));

test('events replayed to a disabled webhook are held', async () => {
  const client = await webhookClient(service, 'held');
  await client.createPlant({ name: 'Alder', id: 1 });
  const { id } = await client.createWebhook({ url: 'http://127.0.0.1:9/' });
  succeeded(await client.send('PATCH', `/webhooks/${id}`, { enabled: false }), 200);
  assert.deepEqual(await client.deliveries(id), []);
  assert.deepEqual(await replayed(client, id, { since: LONG_AGO }), { count: 1 });
  assert.equal((await client.newestIn(id, 'held')).plant.id, 1);
});

test('events of others are not replayed', () =>
  withReceiver(async (receiver) => {
    const [client, other] = [await webhookClient(service, 'one'), await webhookClient(service, 'two')];
    await other.createPlant({ name: 'Theirs', id: 1 });
    await client.createPlant({ name: 'Mine', id: 2 });
    const { id } = await client.createWebhook({ url: receiver.url });
    failed(await replay(other, id, { since: LONG_AGO }), 40402);
    assert.deepEqual(await replayed(client, id, { since: LONG_AGO }), { count: 1 });
    assert.deepEqual(plantsOf(await receiver.receive(1)), [2]);
  }));

test('a body that does not describe a replay is refused', async () => {
  const client = await webhookClient(service, 'wrong');
  const { id } = await client.createWebhook({ url: 'http://127.0.0.1:9/' });
  const times = [
    '',
    'now',
    '2h',
    '2026-11-21',
    '2026-11-21T08:00:00',
    '2026-02-30T00:00:00Z',
    '2026-11-21T24:00:00Z',
  ];
  for (const since of [
    ...times,
    '2026-06-30T23:59:60Z',
    '1795248000',
    1795248000,
    null,
    true,
    [LONG_AGO],
    'x'.repeat(10_240),
  ]) {
    failed(await replay(client, id, { since }), 40002, /"since" must be a valid RFC 3339 date-time/);
  }
  for (const state of ['', 'Failed', 'all', null, ['failed'], 1]) {
    failed(
      await replay(client, id, { since: LONG_AGO, state }),
      40002,
      /"state" must be one of pending, held/,
    );
  }
  failed(await replay(client, id, { since: LONG_AGO, until: LONG_AGO }), 40002, /"until" is unknown/);
  failed(await replay(client, id, {}), 40002, /"since" is missing/);
  for (const body of [undefined, '', '{']) failed(await replay(client, id, body), 40001);
  for (const body of ['null', '[]']) failed(await replay(client, id, body), 40002);
  failed(await client.send('POST', `/webhooks/${id}/replay?since=${LONG_AGO}`, { since: LONG_AGO }), 40003);
});
