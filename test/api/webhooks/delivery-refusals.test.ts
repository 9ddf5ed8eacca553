import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import {
  holding,
  redeliver,
  testWebhook,
  type WebhookClient,
  webhookClient,
} from '../../../testkit/service/webhook-client.ts';
import { exchange } from '../../../testkit/sockets/raw-client.ts';
import { head } from '../../../testkit/sockets/raw-request.ts';

const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
after(() => service.stop());

const HUGE = ['x'.repeat(3000), `evt_${'0'.repeat(26)}`, '9223372036854775808', '%F0%9F%8C%B1', '%00'];

test('an unknown query of a list of deliveries is refused', async () => {
  const client = await webhookClient(service, 'asker');
  const id = await holding(client);
  const path = `/webhooks/${id}/deliveries`;
  for (const limit of ['0', '1001', '-1', '1.0', '', 'x', '9223372036854775808']) {
    failed(await client.send('GET', `${path}?limit=${limit}`), 40003, /from 1 to 1000/);
  }
  for (const state of ['', 'x', 'Held', 'held,failed', 'deleted', '%00']) {
    failed(await client.send('GET', `${path}?state=${state}`), 40003, /pending, held, delivered, failed/);
  }
  for (const query of ['?state=held&state=held', '?x=1', '?offset=1', '?__proto__=1']) {
    failed(await client.send('GET', path + query), 40003);
  }
});

test('a cursor is refused by every list except its own', async () => {
  const [client, other] = [
    await webhookClient(service, 'cursors'),
    await webhookClient(service, 'other-cursors'),
  ];
  const id = await holding(client, 1, 2);
  const second = await holding(client);
  const cursorOf = (answer: { headers: Headers }) =>
    /[?&]cursor=([^&>]+)/.exec(answer.headers.get('link') ?? '')?.[1] ?? '';
  const cursor = cursorOf(await client.send('GET', `/webhooks/${id}/deliveries?limit=1`));
  const plants = cursorOf(await client.send('GET', '/plants?limit=1'));
  const { cursor: events } = JSON.parse((await client.send('GET', '/events?limit=1')).text);
  assert.ok(cursor && plants && events);

  assert.equal((await client.deliveries(id, `?cursor=${cursor}`)).length, 1);
  assert.equal((await client.deliveries(id, `?limit=7&cursor=${cursor}`)).length, 1);
  const refusals: [WebhookClient, path: string][] = [
    ...[plants, events, '', 'x', `${cursor}0`, cursor.slice(1), 'evt_.0', '%00', 'x'.repeat(7000)].map(
      (text): [WebhookClient, string] => [client, `/webhooks/${id}/deliveries?cursor=${text}`],
    ),
    [client, `/webhooks/${id}/deliveries?state=held&cursor=${cursor}`],
    [client, `/webhooks/${second}/deliveries?cursor=${cursor}`],
    [client, `/plants?cursor=${cursor}`],
    [client, `/plants?cursor=${events}`],
    [client, `/events?cursor=${cursor}`],
    [client, `/events?cursor=${plants}`],
    [other, `/events?cursor=${events}`],
  ];
  for (const [caller, path] of refusals) failed(await caller.send('GET', path), 40007, /cursor/);
});

test('a request for another user’s webhook, or a missing one, is a 404 whatever it contains', async () => {
  const [owner, other] = [
    await webhookClient(service, 'hook-owner'),
    await webhookClient(service, 'hook-thief'),
  ];
  const id = await holding(owner, 1);
  const [{ event } = { event: '' }] = await owner.deliveries(id);
  const since = '2026-01-01T00:00:00Z';
  for (const webhook of [id, ...HUGE]) {
    for (const [method, path, body] of [
      ['POST', 'test'],
      ['GET', 'deliveries'],
      ['GET', `deliveries/${event}`],
      ['POST', `deliveries/${event}/redeliver`],
      ['POST', 'replay', { since }],
    ] as const) {
      failed(await other.send(method, `/webhooks/${webhook}/${path}`, body), 40402);
    }
  }
  assert.equal((await owner.deliveries(id)).length, 1);
});

test('an event that was not meant for the webhook is a 404 of its own', async () => {
  const client = await webhookClient(service, 'wanderer');
  const [first, second] = [await holding(client, 1), await holding(client)];
  const [{ event } = { event: '' }] = await client.deliveries(first);
  for (const name of [event, ...HUGE]) {
    failed(await client.send('GET', `/webhooks/${second}/deliveries/${name}`), 40403);
    failed(await redeliver(client, second, name), 40403);
  }
  failed(await client.send('GET', `/webhooks/${first}/deliveries/${event}?x=1`), 40003);
});

test('a test and a redelivery accept no body, or an empty object', async () => {
  const client = await webhookClient(service, 'bodies');
  const id = await holding(client, 1);
  const [{ event } = { event: '' }] = await client.deliveries(id);
  for (const send of [
    (body?: unknown) => testWebhook(client, id, body),
    (body?: unknown) => redeliver(client, id, event, body),
  ]) {
    for (const body of [undefined, '', '{}', ' { } ']) succeeded(await send(body), 202);
    for (const body of ['[]', 'null', '0', '"x"']) failed(await send(body), 40002, /must be a JSON object/);
    for (const body of ['{"x":1}', '{"state":null}']) failed(await send(body), 40002, /none is allowed/);
    for (const body of ['{', ' ', '{}{}']) failed(await send(body), 40001);
    failed(await send(' '.repeat(70_000)), 41300);
  }
  const path = `/webhooks/${id}/test`;
  const { token } = client;
  const headers = { 'content-type': 'text/plain' };
  failed(await service.request('POST', path, { body: '{}', token, headers }), 41500);
  // Many clients name a type though they send nothing.
  succeeded(await service.request('POST', path, { body: '', token, headers }), 202);
  for (const fields of [[], ['Content-Length: 0']]) {
    const line = `POST ${path} HTTP/1.1`;
    const all = ['Host: localhost', `Authorization: Bearer ${token}`, 'Content-Type: text/plain', ...fields];
    succeeded(await exchange(service.port, head(line, ...all)), 202);
  }
  failed(await client.send('POST', `${path}?x=1`), 40003);
});
