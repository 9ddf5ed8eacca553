import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { parseNetworks } from '../../src/webhooks/addresses.ts';
import type { Attempt } from '../../src/webhooks/attempt.ts';
import type { Sendable } from '../../src/webhooks/delivery.ts';
import type { QueueingSender } from '../../src/webhooks/queueing-sender.ts';
import { newKeyPair } from '../../src/webhooks/signature.ts';
import { createThreadSender, type ThreadSenderParts } from '../../src/webhooks/thread-sender.ts';
import { startReceiver } from '../harness/receiver.ts';
import { deliveryTo } from './sending.ts';

let threads: Worker[] = [];
process.on('worker', (worker) => threads.push(worker));

/** The thread that was just made. */
async function newThread(): Promise<Worker> {
  await new Promise(setImmediate);
  const thread = threads.at(-1);
  assert.ok(thread);
  return thread;
}

const senders: QueueingSender[] = [];
after(() => Promise.all(senders.map((sender) => sender.stop())));

/** A thread sender that may reach loopback, and is stopped after the tests of the file. */
function threadSender(parts: Partial<ThreadSenderParts> = {}) {
  const allowedNetworks = parseNetworks('127.0.0.0/8');
  const usual = { allowedNetworks, version: '1.2.3', source: 'https://x', concurrency: 256 };
  const sender = createThreadSender({ ...usual, ...parts });
  senders.push(sender);
  return {
    ...sender,
    async send(delivery: Sendable): Promise<Attempt> {
      const attempt = await sender.send(delivery);
      assert.ok(attempt, 'no attempt was made');
      return attempt;
    },
  };
}

test('the thread starts with the first delivery, and ends with the stop', async () => {
  threads = [];
  const receiver = await startReceiver();
  const sender = threadSender();
  assert.equal(threads.length, 0);
  const before = Date.now();
  const delivery = deliveryTo(receiver.url);
  const { at, durationMs, ...outcome } = await sender.send(delivery);
  assert.deepEqual(outcome, { status: 204, address: '127.0.0.1' });
  assert.ok(before <= at && at + durationMs <= Date.now());
  assert.equal((await receiver.receive(1))[0]?.headers['webhook-id'], delivery.event.id);
  assert.equal((await sender.send(deliveryTo(receiver.url))).status, 204);
  assert.equal(threads.length, 1);
  await sender.stop();
  assert.equal(threads[0]?.threadId, -1);
  await receiver.stop();
});

test('many deliveries at once each get their own attempt', async () => {
  const receiver = await startReceiver();
  receiver.usually(({ body }, response) => response.writeHead(500).end(JSON.parse(body.toString()).name));
  const sender = threadSender();
  for (let round = 0; round < 2; round++) {
    const names = Array.from({ length: 100 }, (_, i) => `plant ${round} ${i}`);
    const attempts = await Promise.all(
      names.map((name) => {
        const delivery = deliveryTo(receiver.url);
        delivery.event.plant.name = name;
        return sender.send(delivery);
      }),
    );
    assert.deepEqual(
      attempts.map(({ excerpt }) => excerpt),
      names,
    );
  }
  await receiver.stop();
});

test('the thread keeps to the networks that are allowed', async () => {
  const receiver = await startReceiver();
  const refused = await threadSender({ allowedNetworks: parseNetworks('10.0.0.0/8, fd00::/8') }).send(
    deliveryTo(receiver.url),
  );
  assert.match(refused.error ?? '', /by the rule "loopback"/);
  assert.equal(receiver.received.length, 0);
  await receiver.stop();
});

test('a host that TLS does not take spoils no delivery of another user', async () => {
  const receiver = await startReceiver();
  const sender = threadSender();
  const hostile = await sender.send(deliveryTo(`https://${'a.'.repeat(128)}example/`, 'wh_hostile'));
  const other = deliveryTo(receiver.url, 'wh_other');
  // A key that is not imported yet.
  other.webhook.privateKey = newKeyPair(randomBytes).privateKey;
  const { status, error } = await sender.send(other);
  await receiver.stop();
  assert.deepEqual([status, error], [204, undefined]);
  assert.match(hostile.error ?? '', /by the rule "host"/);
});

test('the deadline holds in the thread', async () => {
  const receiver = await startReceiver();
  receiver.usually('hang');
  const attempt = await threadSender({ attemptMs: 100 }).send(deliveryTo(receiver.url));
  assert.equal(attempt.error, 'There was no answer within 0.1 s.');
  await receiver.stop();
});

test('a thread that dies fails what is under way, and the next delivery starts another', async () => {
  threads = [];
  const receiver = await startReceiver();
  receiver.script('hang', 'hang');
  const sender = threadSender();
  const lost = [sender.send(deliveryTo(receiver.url)), sender.send(deliveryTo(receiver.url))];
  await receiver.receive(2);
  await threads[0]?.terminate();
  for (const attempt of lost) {
    const { at, durationMs, ...outcome } = await attempt;
    assert.deepEqual(outcome, { error: 'The thread that sends ended by a fault.' });
    assert.ok(at + durationMs <= Date.now());
  }
  assert.equal((await sender.send(deliveryTo(receiver.url))).status, 204);
  assert.equal(threads.length, 2);
  await receiver.stop();
});

test('a thread that dies while it starts fails what waits for it', async () => {
  threads = [];
  const receiver = await startReceiver();
  const sender = threadSender();
  const attempt = sender.send(deliveryTo(receiver.url));
  await (await newThread()).terminate();
  assert.equal((await attempt).error, 'The thread that sends ended by a fault.');
  assert.equal((await sender.send(deliveryTo(receiver.url))).status, 204);
  await receiver.stop();
});

test('a stop ends what is under way, and nothing is sent after it', async () => {
  const receiver = await startReceiver();
  receiver.usually('hang');
  const sender = threadSender();
  const attempts = [1, 2, 3].map(() => sender.send(deliveryTo(receiver.url)));
  await receiver.receive(3);
  // This one has not reached the thread yet.
  attempts.push(sender.send(deliveryTo(receiver.url)));
  await Promise.all([sender.stop(), sender.stop()]);
  for (const attempt of attempts) assert.equal((await attempt).error, 'The service stopped.');
  assert.equal((await sender.send(deliveryTo(receiver.url))).error, 'The service stopped.');
  await receiver.stop();
});

test('a stop does not wait for a look-up that hangs, nor for a thread that was never started', async () => {
  const sender = threadSender();
  await threadSender().stop();
  const attempt = sender.send(deliveryTo('https://a.name.that.is.looked.up.example/'));
  await once(await newThread(), 'online');
  await sender.stop();
  assert.notEqual((await attempt).error, undefined);
});

test('the thread yields to the others', { skip: process.platform !== 'linux' }, async () => {
  await Promise.all(senders.map((sender) => sender.stop()));
  const receiver = await startReceiver();
  const sender = threadSender();
  await sender.send(deliveryTo(receiver.url));
  // The 19th field of each thread, behind its name in parentheses (proc(5)).
  const priorities = readdirSync('/proc/self/task').map((thread) => {
    const fields = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[16]);
  });
  assert.deepEqual(
    priorities.filter((nice) => nice !== 0),
    [10],
  );
  await sender.stop();
  await receiver.stop();
});
