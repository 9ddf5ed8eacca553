import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { STOPPED } from '../../src/webhooks/attempt.ts';
import { createQueueingSender, type QueueingSender } from '../../src/webhooks/queueing-sender.ts';
import { type Receiver, startReceiver } from '../harness/receiver.ts';
import { eventsIn } from './owner.ts';
import { deliveryTo, senderWith } from './sending.ts';

const receivers: Receiver[] = [];
after(async () => {
  for (const receiver of receivers) await receiver.stop();
});

async function newReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

/** A receiver whose requests wait until they are answered, the oldest first. */
async function newHoldingReceiver() {
  const receiver = await newReceiver();
  const held: ServerResponse[] = [];
  receiver.usually((_, response) => void held.push(response));
  return {
    ...receiver,
    held,
    answer: (status = 204) => void held.shift()?.writeHead(status).end(),
  };
}

function senderOf(concurrency: number): QueueingSender {
  return createQueueingSender(senderWith(), concurrency);
}

/** Sends so many deliveries of one webhook at once; gives their events, and their statuses in the same order. */
function sendMany(sender: QueueingSender, url: string, count: number, webhook = 'wh_1') {
  const claims = Array.from({ length: count }, () => deliveryTo(url, webhook));
  const attempts = claims.map((claim) => sender.send(claim));
  return {
    events: claims.map(({ event }) => event.id),
    /** Undefined for an attempt that was not made. */
    statuses: async () => (await Promise.all(attempts)).map((attempt) => attempt?.status),
  };
}

test('requests of one webhook are made in the order in which they were asked for', async () => {
  const receiver = await newReceiver();
  const { events, statuses } = sendMany(senderOf(1), receiver.url, 30);
  assert.deepEqual(await statuses(), Array(30).fill(204));
  assert.deepEqual(eventsIn(receiver.received), events);
});

test('no more requests than allowed are under way, and the next begins when one ends', async () => {
  const receiver = await newHoldingReceiver();
  const { statuses } = sendMany(senderOf(3), receiver.url, 8);
  for (let answered = 0; answered < 8; answered++) {
    await receiver.receive(Math.min(8, answered + 3));
    await setImmediate();
    assert.ok(receiver.held.length <= 3, `${receiver.held.length} at once`);
    receiver.answer();
  }
  assert.deepEqual(await statuses(), Array(8).fill(204));
});

test('webhooks do not wait for each other, also when they have the same receiver', async () => {
  const receiver = await newHoldingReceiver();
  const sender = senderOf(2);
  const one = sendMany(sender, receiver.url, 5, 'wh_one');
  await receiver.receive(2);
  const other = sendMany(sender, receiver.url, 2, 'wh_other');
  const received = await receiver.receive(4);
  assert.deepEqual(new Set(eventsIn(received.slice(2))), new Set(other.events));
  receiver.usually({ status: 204 });
  for (let answered = 0; answered < 4; answered++) receiver.answer();
  assert.deepEqual(await one.statuses(), Array(5).fill(204));
});

for (const [what, end, status] of [
  ['an answer that is a failure', (response) => response.writeHead(500).end(), 500],
  ['a connection that breaks', (response) => response.destroy(), undefined],
] as [string, (response: ServerResponse) => void, number | undefined][]) {
  test(`after ${what} those that wait are not made, those under way go on, and later ones are made`, async () => {
    const receiver = await newHoldingReceiver();
    const sender = senderOf(2);
    const claims = Array.from({ length: 6 }, () => deliveryTo(receiver.url));
    const [failing, going, ...waiting] = claims.map((claim) => sender.send(claim));
    const [first] = await receiver.receive(2);
    // Two connections: either may come first.
    const order = eventsIn(first ? [first] : [])[0] === claims[0]?.event.id ? [0, 1] : [1, 0];
    const [failed, underWay] = order.map((i) => receiver.held[i]);
    assert.ok(failed && underWay);
    end(failed);
    assert.deepEqual(await Promise.all(waiting), Array(4).fill(undefined));
    assert.equal((await failing)?.status, status);

    underWay.writeHead(204).end();
    assert.equal((await going)?.status, 204);
    assert.equal(receiver.received.length, 2);
    receiver.usually({ status: 204 });
    const later = sendMany(sender, receiver.url, 3);
    assert.deepEqual(await later.statuses(), [204, 204, 204]);
  });
}

test('a failure leaves alone what waits for other webhooks', async () => {
  const [bad, good] = [await newReceiver(), await newHoldingReceiver()];
  bad.usually({ status: 500 });
  const sender = senderOf(1);
  const fine = sendMany(sender, good.url, 3, 'wh_good');
  await good.receive(1);
  const failing = sendMany(sender, bad.url, 3, 'wh_bad');
  assert.deepEqual(await failing.statuses(), [500, undefined, undefined]);
  for (let answered = 0; answered < 3; answered++) {
    await good.receive(answered + 1);
    good.answer();
  }
  assert.deepEqual(await fine.statuses(), [204, 204, 204]);
});

test('drained, it makes no further request, and those under way end by themselves', async () => {
  const receiver = await newHoldingReceiver();
  const sender = senderOf(2);
  const { statuses } = sendMany(sender, receiver.url, 4);
  await receiver.receive(2);
  sender.drain();
  assert.equal(await sender.send(deliveryTo(receiver.url)), undefined);
  assert.equal(await sender.send(deliveryTo(receiver.url, 'wh_new')), undefined);
  receiver.answer();
  receiver.answer();
  assert.deepEqual(await statuses(), [204, 204, undefined, undefined]);
  assert.equal(receiver.received.length, 2);
});

test('stopped, it ends what is under way, and makes nothing of what waits', async () => {
  const receiver = await newHoldingReceiver();
  const sender = senderOf(1);
  const claims = [deliveryTo(receiver.url), deliveryTo(receiver.url)];
  const attempts = claims.map((claim) => sender.send(claim));
  await receiver.receive(1);
  await Promise.all([sender.stop(), sender.stop()]);
  const [ended, waiting] = await Promise.all(attempts);
  assert.equal(ended?.error, STOPPED);
  assert.equal(waiting, undefined);
  assert.equal(receiver.received.length, 1);
});
