import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { delivery } from '../../../src/limits.ts';
import { type Receiver, type Reply, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { eventsIn, type Owner, ownerOf } from '../../../testkit/service/owner.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { startService } from '../../../testkit/service/service.ts';

/** Cases in which other webhook senders jam. */

const ENV = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_RETRY_SCHEDULE: '0s,20ms,1h',
  WEBHOOK_CONCURRENCY: '2',
};
const service = await startService(ENV);
const receivers: Receiver[] = [];
after(async () => {
  // Before the service, which would wait for pending requests.
  for (const receiver of receivers) await receiver.stop();
  await service.stop();
});

async function newReceiver(answer: Reply = { status: 204 }): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  receiver.usually(answer);
  return receiver;
}

async function newOwner(user: string): Promise<Owner> {
  return ownerOf(service, await service.tokenFor(user));
}

/** Half of an attempt's deadline. */
const SOON_MS = delivery.attemptMs / 2;

test('receivers that fail, hang, reset, drip or send endlessly delay no other', async () => {
  const owner = await newOwner('neighbour');
  const bad: Reply[] = [
    { status: 500 },
    'hang',
    'reset',
    { status: 200, body: Buffer.alloc(1_000_000) },
    (_, response) => drip(response),
    (_, response) => flood(response),
  ];
  for (const answer of bad) await owner.subscribe(await newReceiver(answer));
  const receiver = await newReceiver();
  const webhook = await owner.subscribe(receiver);
  using watch = startWatch();
  await owner.create(50);
  await receiver.receive(50);
  await owner.settled(webhook);
  assert.ok(watch.ms() < SOON_MS, 'it waited for another');
  assert.deepEqual(eventsIn(receiver.received).toSorted(), await owner.events());
});

test('many hanging receivers, each with a backlog, leave room for others', async () => {
  const hanging = await newReceiver('hang');
  const owner = await newOwner('backlog');
  const webhooks: string[] = [];
  // As many as would take all slots if each could fill its own.
  for (let i = 0; i < 32; i++) webhooks.push(await owner.subscribe(hanging));
  for (const webhook of webhooks) await owner.enable(webhook, false);
  await owner.create(delivery.inAll / 16);
  // In one transaction: everything is due at once, as after a start.
  await service.beside(async ({ store: { access, webhooks: hooks } }) => {
    const { id } = (await access.users()).find(({ name }) => name === 'backlog') ?? assert.fail();
    const change = { at: Date.now(), enabled: true };
    await Promise.all(webhooks.map((webhook) => hooks.changeWebhook(id, webhook, change)));
  });
  await hanging.receive(webhooks.length);
  // Nothing signals that no more is read for them.
  await pause(100);

  const receiver = await newReceiver();
  const other = await newOwner('latecomer');
  await other.subscribe(receiver);
  using watch = startWatch();
  await other.create(1);
  await receiver.receive(1);
  assert.ok(watch.ms() < SOON_MS, `it waited for ${watch.ms()} ms`);
});

for (const [what, answer] of [
  ['a long', { status: 200, body: Buffer.alloc(5_000_000, 'a') }],
  ['an endless', (_, response) => flood(response)],
] as [string, Reply][]) {
  test(`an answer with ${what} body delivers by its status, at once and in one attempt`, async () => {
    const receiver = await newReceiver(answer);
    const owner = await newOwner(`reader of ${what} body`);
    const webhook = await owner.subscribe(receiver);
    using watch = startWatch();
    await owner.create(20);
    const { failed } = await owner.settled(webhook);
    assert.ok(watch.ms() < SOON_MS, 'bodies were waited for');
    assert.equal(failed, 0);
    assert.deepEqual(eventsIn(receiver.received).toSorted(), await owner.events());
    const [event = ''] = await owner.events();
    const { history } = await owner.delivery(webhook, event);
    assert.deepEqual(
      history.map(({ status, error }) => [status, error]),
      [[200, undefined]],
    );
    assert.ok(Buffer.byteLength(history[0]?.excerpt ?? '') <= delivery.answerKeptBytes);
  });
}

/** Sends a byte now and then, and never ends. */
function drip(response: ServerResponse): void {
  response.writeHead(200);
  const timer = setInterval(() => response.write('.'), 50);
  response.on('close', () => clearInterval(timer));
}

/** Sends as many bytes as are taken. */
function flood(response: ServerResponse): void {
  const part = Buffer.alloc(64 * 1024, '.');
  const more = (): void => {
    while (!response.destroyed && response.write(part));
  };
  response.writeHead(200);
  response.on('drain', more);
  more();
}
