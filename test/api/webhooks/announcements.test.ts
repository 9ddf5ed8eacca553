import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { after, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type Received, type Receiver, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';

const service = await startService({
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_RETRY_SCHEDULE: '0s,0s,0s',
});
after(() => service.stop());

type Created = { id: string; secret: string; publicKey: string };

async function createWebhook(url: string, token: string): Promise<Created> {
  const answer = await service.request('POST', '/webhooks', { body: { url }, token });
  // webhooks.test.ts checks the answer.
  return succeeded(answer, 201) as Created;
}

async function createPlant(body: unknown, token: string): Promise<void> {
  succeeded(await service.request('POST', '/plants', { body, token }), 201);
}

async function withReceiver(work: (receiver: Receiver) => Promise<void>): Promise<void> {
  const receiver = await startReceiver();
  try {
    await work(receiver);
  } finally {
    await receiver.stop();
  }
}

const bodies = (received: readonly Received[]) => received.map(({ body }) => body.toString()).sort();

test('a created plant reaches the receiver, signed, as it was created', () =>
  withReceiver(async (receiver) => {
    const token = await service.tokenFor('announcer');
    const { secret, publicKey } = await createWebhook(receiver.url, token);
    await createPlant('{"name":"Alder 🌱 \\"x\\"","tag":"Alnus","id":9007199254740993}', token);

    const [request] = await receiver.receive(1);
    assert.ok(request !== undefined);
    assert.equal(request.method, 'POST');
    assert.equal(request.path, '/hook');
    const body = request.body.toString();
    assert.equal(body, '{"id":9007199254740993,"name":"Alder 🌱 \\"x\\"","tag":"Alnus"}');

    const { headers } = request;
    assert.equal(headers['content-type'], 'application/json');
    assert.match(headers['user-agent'] ?? '', /^plant-store\/\d+\.\d+\.\d+$/);
    assert.match(String(headers['webhook-id']), /^evt_[0-9a-hjkmnp-tv-z]{26}$/);
    assert.equal(headers['ce-id'], headers['webhook-id']);
    assert.equal(headers['ce-specversion'], '1.0');
    assert.equal(headers['ce-type'], 'plant.created');
    assert.equal(headers['ce-source'], service.url);
    assert.ok(Math.abs(Date.parse(String(headers['ce-time'])) - Date.now()) < 60_000);

    new Webhook(secret).verify(body, toText(headers));
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    assert.ok(verifiesV1a(signed, String(headers['webhook-signature']), publicKey));
  }));

test('a plant without a tag is announced without one', () =>
  withReceiver(async (receiver) => {
    const token = await service.tokenFor('tagless');
    await createWebhook(receiver.url, token);
    await createPlant({ name: 'Birch', id: -7 }, token);
    await createPlant({ name: 'Cedar', tag: '', id: 0 }, token);
    assert.deepEqual(bodies(await receiver.receive(2)), [
      '{"id":-7,"name":"Birch"}',
      '{"id":0,"name":"Cedar","tag":""}',
    ]);
  }));

test('every plant is announced once, but a refused one is not', () =>
  withReceiver(async (receiver) => {
    const token = await service.tokenFor('counter');
    await createWebhook(receiver.url, token);
    const ids = Array.from({ length: 50 }, (_, index) => index + 1);
    await Promise.all(ids.map((id) => createPlant({ name: 'Fir', id }, token)));
    failed(await service.request('POST', '/plants', { body: { name: 'Twice', id: 1 }, token }), 40900);
    failed(await service.request('POST', '/plants', { body: { name: '' }, token }), 40002);
    await createPlant({ name: 'Last', id: 51 }, token);

    const received = await receiver.receive(51);
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 51);
    const expected = [...ids.map((id) => `{"id":${id},"name":"Fir"}`), '{"id":51,"name":"Last"}'];
    assert.deepEqual(bodies(received), expected.sort());
  }));

test('each webhook of a user gets each plant, under its own secret', () =>
  withReceiver(async (receiver) => {
    const token = await service.tokenFor('twofold');
    const first = await createWebhook(`${receiver.url}/1`, token);
    const second = await createWebhook(`${receiver.url}/2`, token);
    await createPlant({ name: 'Ginkgo' }, token);
    const received = await receiver.receive(2);
    for (const [path, { secret }, other] of [
      ['/hook/1', first, second],
      ['/hook/2', second, first],
    ] as const) {
      const request = received.find((candidate) => candidate.path === path);
      assert.ok(request !== undefined);
      const headers = toText(request.headers);
      new Webhook(secret).verify(request.body, headers);
      assert.throws(() => new Webhook(other.secret).verify(request.body, headers));
    }
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1);
  }));

test('a failed attempt is retried with the same id', () =>
  withReceiver(async (receiver) => {
    const token = await service.tokenFor('retried');
    receiver.script({ status: 500 }, { status: 302, headers: { location: '/elsewhere' } });
    await createWebhook(receiver.url, token);
    await createPlant({ name: 'Hazel', id: 1 }, token);
    const received = await receiver.receive(3);
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1);
    assert.deepEqual(bodies(received), Array(3).fill('{"id":1,"name":"Hazel"}'));
    assert.ok(received.every(({ path }) => path === '/hook'));
  }));

test('a webhook gets neither earlier plants nor those of others', () =>
  withReceiver(async (receiver) => {
    const [token, other] = [await service.tokenFor('newcomer'), await service.tokenFor('bystander')];
    await createPlant({ name: 'Before' }, token);
    await createWebhook(receiver.url, token);
    await createPlant({ name: 'Of another' }, other);
    await createPlant({ name: 'After', id: 8 }, token);
    await createPlant({ name: 'After', id: 9 }, token);
    const expected = ['{"id":8,"name":"After"}', '{"id":9,"name":"After"}'];
    assert.deepEqual(bodies(await receiver.receive(2)), expected);
  }));

test('a deleted webhook receives nothing more', () =>
  withReceiver(async (receiver) => {
    const token = await service.tokenFor('leaver');
    const gone = await createWebhook(`${receiver.url}/gone`, token);
    await createWebhook(`${receiver.url}/stays`, token);
    succeeded(await service.request('DELETE', `/webhooks/${gone.id}`, { token }), 204);
    await createPlant({ name: 'Ivy' }, token);
    const [request] = await receiver.receive(1);
    assert.equal(request?.path, '/hook/stays');
  }));

function toText(headers: Received['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** The ed25519 signature of Standard Webhooks, which its libraries do not verify. */
function verifiesV1a(content: string, signatures: string, publicKey: string): boolean {
  const x = Buffer.from(publicKey.replace('whpk_', ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const found = signatures.split(' ').filter((signature) => signature.startsWith('v1a,'));
  return found.some((signature) =>
    verify(null, Buffer.from(content), key, Buffer.from(signature.slice(4), 'base64')),
  );
}
