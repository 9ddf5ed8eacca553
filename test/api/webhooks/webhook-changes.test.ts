import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type Received, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import type { WebhookAnswer } from '../../../testkit/service/owner.ts';
import { startService } from '../../../testkit/service/service.ts';
import { type WebhookClient, webhookClient } from '../../../testkit/service/webhook-client.ts';

const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
after(() => service.stop());

/** A URL where nothing listens. */
const URL = 'http://127.0.0.1:9/hook';
const HUGE = ['x'.repeat(8000), `wh_${'0'.repeat(26)}`, '9223372036854775808', '%F0%9F%8C%B1', '%00'];

const change = (client: WebhookClient, id: string, body: unknown) =>
  client.send('PATCH', `/webhooks/${id}`, body);

async function changed(client: WebhookClient, id: string, body: unknown): Promise<WebhookAnswer> {
  const answer = succeeded(await change(client, id, body), 200) as WebhookAnswer;
  // A change returns what is stored.
  assert.deepEqual(answer, await client.webhook(id));
  return answer;
}

test('a single webhook looks as in the list, without its secret', async () => {
  const client = await webhookClient(service, 'shower');
  const { secret, ...made } = await client.createWebhook({ url: URL, description: 'x', rate: 7 });
  assert.deepEqual(await client.webhook(made.id), made);
  assert.deepEqual(succeeded(await client.send('GET', '/webhooks'), 200), [made]);
  const head = await client.send('HEAD', `/webhooks/${made.id}`);
  assert.deepEqual([head.status, head.text], [200, '']);
  failed(await client.send('GET', `/webhooks/${made.id}?x=1`), 40003);
});

test('only the given members are changed, and null removes one', async () => {
  const client = await webhookClient(service, 'changer');
  const { secret, ...made } = await client.createWebhook({ url: URL });
  let expected: WebhookAnswer = made;
  const steps: Partial<WebhookAnswer>[] = [
    { url: `${URL}/2` },
    { description: 'The greenhouse 🌱' },
    { rate: 1000 },
    { description: '', rate: 1 },
    {},
  ];
  for (const step of steps) {
    expected = { ...expected, ...step };
    assert.deepEqual(await changed(client, made.id, step), expected);
  }
  assert.deepEqual(await changed(client, made.id, '{"rate":2.50e2}'), { ...expected, rate: 250 });
  assert.deepEqual(await changed(client, made.id, { enabled: false }), {
    ...expected,
    rate: 250,
    status: 'disabled',
  });
  const bare = await changed(client, made.id, { description: null, rate: null, enabled: true });
  assert.deepEqual(bare, { ...made, url: `${URL}/2` });
});

test('an invalid change is refused and changes nothing', async () => {
  const client = await webhookClient(service, 'breaker');
  const { secret, ...made } = await client.createWebhook({ url: URL, rate: 3 });
  const wrong: [member: string, value: unknown][] = [
    ...[null, '', 7, [URL], `https://8.8.8.8/${'x'.repeat(10_240)}`, 'a\0'].map((v): [string, unknown] => [
      'url',
      v,
    ]),
    ...[7, 'x'.repeat(256), '\ud800', 'a\0'].map((v): [string, unknown] => ['description', v]),
    ...[0, -1, 1001, 0.5, 1e300, '7', true].map((v): [string, unknown] => ['rate', v]),
    ...[null, 1, 'true', 'enabled'].map((v): [string, unknown] => ['enabled', v]),
    ...['id', 'status', 'secret', 'owner', '__proto__x'].map((name): [string, unknown] => [name, 'x']),
  ];
  for (const [member, value] of wrong) {
    const answer = await change(client, made.id, { description: 'new', [member]: value });
    failed(answer, 40002, new RegExp(`"${member}"`));
  }
  for (const body of ['[]', 'null', '7']) failed(await change(client, made.id, body), 40002);
  for (const body of [undefined, '', '{', '{"rate":1,"rate":2}'])
    failed(await change(client, made.id, body), 40001);
  failed(await change(client, made.id, { rate: 9, url: 'https://10.0.0.1/' }), 42201, /"private"/);
  failed(await client.send('PATCH', `/webhooks/${made.id}?x=1`, {}), 40003);
  assert.deepEqual(await client.webhook(made.id), made);
});

test('a request for another user’s webhook, or a missing one, is a 404 whatever it contains', async () => {
  const [owner, other] = [
    await webhookClient(service, 'hook-owner'),
    await webhookClient(service, 'hook-thief'),
  ];
  const { secret, ...made } = await owner.createWebhook({ url: URL });
  for (const id of [made.id, ...HUGE]) {
    failed(await other.send('GET', `/webhooks/${id}`), 40402);
    for (const body of [{}, { rate: 5 }, { url: 'https://10.0.0.1/' }])
      failed(await change(other, id, body), 40402);
    for (const body of [undefined, { overlap: 0 }]) {
      failed(await other.send('POST', `/webhooks/${id}/rotate-secret`, body), 40402);
    }
  }
  assert.deepEqual(await owner.webhook(made.id), made);
});

test('deliveries of a disabled webhook are held, and sent when it is enabled again', async () => {
  const receiver = await startReceiver();
  const client = await webhookClient(service, 'holder');
  const { id } = await client.createWebhook({ url: receiver.url });
  assert.equal((await changed(client, id, { enabled: false })).status, 'disabled');
  for (let plant = 1; plant <= 3; plant++) await client.createPlant({ name: 'Held', id: plant });
  const { waiting, oldestWaitingAge, disabledReason } = await client.webhook(id);
  assert.equal(waiting, 3);
  assert.ok(oldestWaitingAge !== undefined && oldestWaitingAge < 20);
  assert.equal(disabledReason, undefined);
  assert.equal(receiver.received.length, 0);

  assert.equal((await changed(client, id, { enabled: true })).status, 'enabled');
  const bodies = (await receiver.receive(3)).map(({ body }) => JSON.parse(body.toString()).id);
  assert.deepEqual(bodies.sort(), [1, 2, 3]);
  await receiver.stop();
});

const verifies = (secret: string, { body, headers }: Received) => {
  const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  try {
    new Webhook(secret).verify(body, fields);
    return true;
  } catch {
    return false;
  }
};

test('after a rotation both secrets sign, and without an overlap only the new one does', async () => {
  const receiver = await startReceiver();
  const client = await webhookClient(service, 'rotator');
  const { id, secret: first } = await client.createWebhook({ url: receiver.url });
  const rotate = async (body?: unknown) => {
    const before = Date.now();
    const answer = await client.send('POST', `/webhooks/${id}/rotate-secret`, body);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const { secret, overlapUntil, ...rest } = succeeded(answer, 200) as {
      secret: string;
      overlapUntil: string;
    };
    assert.deepEqual(rest, {});
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    return { secret, overlapMs: Date.parse(overlapUntil) - before };
  };
  const received = async (count: number) => {
    await client.createPlant({ name: 'Signed' });
    const request = (await receiver.receive(count)).at(-1);
    assert.ok(request);
    return request;
  };

  const second = await rotate();
  assert.ok(Math.abs(second.overlapMs - 86_400_000) < 5000);
  const both = await received(1);
  assert.ok(verifies(first, both) && verifies(second.secret, both));

  const third = await rotate({ overlap: 0 });
  assert.ok(Math.abs(third.overlapMs) < 5000);
  const one = await received(2);
  assert.deepEqual(
    [first, second.secret, third.secret].map((secret) => verifies(secret, one)),
    [false, false, true],
  );
  await receiver.stop();
});

test('at most five secrets sign at a time, and the refusal of a sixth says when one ends', async () => {
  const client = await webhookClient(service, 'collector');
  const { id } = await client.createWebhook({ url: URL });
  const rotate = (body?: unknown) => client.send('POST', `/webhooks/${id}/rotate-secret`, body);
  let first = '';
  for (const overlap of [1000, 2000, 3000, 4000]) {
    const { overlapUntil } = JSON.parse((await rotate({ overlap })).text);
    first ||= overlapUntil;
  }
  const message = failed(await rotate(), 40902, /5 live secrets/);
  assert.ok(message.includes(first), `${message} ${first}`);
  succeeded(await rotate({ overlap: 0 }), 200);
  succeeded(await rotate(), 200);
});

test('the body of a rotation may be absent or empty, and contains only the overlap', async () => {
  const client = await webhookClient(service, 'bodies');
  const { id } = await client.createWebhook({ url: URL });
  const path = `/webhooks/${id}/rotate-secret`;
  for (const body of ['', '{}', ' {} ', '{"overlap":0}', '{"overlap":0e0}']) {
    succeeded(await client.send('POST', path, body), 200);
    succeeded(await client.send('POST', path, '{"overlap":0}'), 200);
  }
  for (const overlap of ['-1', '2592001', '0.5', 'null', '"0"', '9223372036854775807', '1e400', '[0]']) {
    failed(
      await client.send('POST', path, `{"overlap":${overlap}}`),
      40002,
      /"overlap" must be .* 0 to 2592000/,
    );
  }
  failed(await client.send('POST', path, '{"secret":"x"}'), 40002, /"secret" is unknown/);
  for (const body of ['[]', 'null', '0']) failed(await client.send('POST', path, body), 40002);
  failed(await client.send('POST', path, '{'), 40001);
  failed(await client.send('POST', `${path}?overlap=0`), 40003);
  const headers = { 'content-type': 'text/plain' };
  failed(await service.request('POST', path, { body: '{}', headers, token: client.token }), 41500);
});
