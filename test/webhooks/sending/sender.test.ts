import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { delivery as limits } from '../../../src/limits.ts';
import { failureOf, NOT_SIGNED } from '../../../src/webhooks/sending/attempt.ts';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { deliveryTo, senderWith } from '../../../testkit/receivers/sending.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { listening } from '../../../testkit/sockets/socket-server.ts';

const sender = senderWith();
/** Long enough to connect, on a busy machine as well. */
const hasty = senderWith({ attemptMs: 1_000 });

test('an attempt has the 15 s that the contract gives it', () => {
  assert.equal(limits.attemptMs, 15_000);
});

test('a delivery arrives unchanged, and its status is the outcome', async () => {
  const receiver = await startReceiver();
  const before = Date.now();
  const delivery = deliveryTo(`${receiver.url}?a=b#c`);
  const { at, durationMs, ...outcome } = await sender.send(delivery);
  assert.deepEqual(outcome, { status: 204, address: '127.0.0.1' });
  assert.ok(before <= at && at + durationMs <= Date.now());
  const [request] = await receiver.receive(1);
  assert.equal(request?.method, 'POST');
  assert.equal(request?.path, '/hook?a=b');
  assert.equal(request?.headers.host, `127.0.0.1:${receiver.port}`);
  assert.equal(request?.headers['webhook-id'], delivery.event.id);
  assert.equal(request?.headers['user-agent'], 'plant-store/1.2.3');
  assert.equal(request?.headers['ce-source'], 'https://plants.example');
  assert.equal(request?.headers['webhook-timestamp'], String(Math.floor(at / 1000)));
  const body = `{"id":${delivery.event.plant.id},"name":"Alder é"}`;
  assert.equal(request?.body.toString(), body);
  assert.equal(request?.headers['content-length'], String(Buffer.byteLength(body)));
  await receiver.stop();
});

test('an unsignable delivery is a failed attempt, and nothing is sent', async () => {
  const receiver = await startReceiver();
  const delivery = deliveryTo(receiver.url);
  const bad = { ...delivery, webhook: { ...delivery.webhook, secrets: ['whsec_c2hvcnQ='] } };
  assert.equal((await sender.send(bad)).error, NOT_SIGNED);
  assert.equal(receiver.received.length, 0);
  await receiver.stop();
});

test("a status other than 2xx is a failure that keeps the receiver's answer", async () => {
  const receiver = await startReceiver();
  receiver.script({ status: 500, body: 'we are sorry' }, { status: 429 }, { status: 404 }, { status: 202 });
  const attempt = await sender.send(deliveryTo(receiver.url));
  assert.deepEqual([attempt.status, attempt.excerpt], [500, 'we are sorry']);
  assert.equal(failureOf(attempt), 'The receiver answered 500.');
  assert.equal(failureOf(await sender.send(deliveryTo(receiver.url))), 'The receiver answered 429.');
  assert.equal(failureOf(await sender.send(deliveryTo(receiver.url))), 'The receiver answered 404.');
  assert.equal(failureOf(await sender.send(deliveryTo(receiver.url))), undefined);
  await receiver.stop();
});

test('a Retry-After is kept unchanged, up to 64 characters', async () => {
  const receiver = await startReceiver();
  const headers = (value: string) => ({ status: 503, headers: { 'retry-after': value } });
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
  receiver.script(headers('120'), headers(date), headers('9'.repeat(100)), { status: 503 });
  const came = [];
  for (let i = 0; i < 4; i++) came.push((await sender.send(deliveryTo(receiver.url))).retryAfter);
  assert.deepEqual(came, ['120', date, '9'.repeat(64), undefined]);
  await receiver.stop();
});

test('a redirect is a failure and is not followed', async () => {
  const receiver = await startReceiver();
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.script({ status, headers: { location: receiver.url } });
    const attempt = await sender.send(deliveryTo(receiver.url));
    assert.equal(failureOf(attempt), `The receiver answered ${status}; redirects are not followed.`);
  }
  assert.equal(receiver.received.length, 5);
  await receiver.stop();
});

test('an excerpt is valid text wherever it is cut', async () => {
  const receiver = await startReceiver();
  receiver.script(
    { status: 500, body: `x${'é'.repeat(3000)}` },
    { status: 500, body: Buffer.from([0x61, 0, 0xff]) },
  );
  assert.equal((await sender.send(deliveryTo(receiver.url))).excerpt, `x${'é'.repeat(2047)}`);
  assert.equal((await sender.send(deliveryTo(receiver.url))).excerpt, 'a\uFFFD\uFFFD');
  await receiver.stop();
});

test('a compressed answer is kept unchanged', async () => {
  const receiver = await startReceiver();
  const body = Buffer.from('1f8b0800', 'hex');
  receiver.script({ status: 200, headers: { 'content-encoding': 'gzip' }, body });
  assert.equal((await sender.send(deliveryTo(receiver.url))).excerpt, '\x1f\uFFFD\x08\uFFFD');
  await receiver.stop();
});

test('a receiver that never answers costs one deadline', async () => {
  const receiver = await startReceiver();
  receiver.usually('hang');
  using watch = startWatch();
  const attempt = await hasty.send(deliveryTo(receiver.url));
  assert.ok(watch.ms() < 5_000, `${watch.ms()} ms`);
  assert.equal(attempt.error, 'There was no response within 1 s.');
  assert.deepEqual([attempt.status, attempt.address], [undefined, '127.0.0.1']);
  assert.ok(attempt.durationMs >= 999, `${attempt.durationMs} ms`);
  await receiver.stop();
});

test('the duration of an attempt does not depend on the clock, which may be set meanwhile', async () => {
  const receiver = await startReceiver();
  receiver.usually('hang');
  for (const step of [2 ** 31, -1000]) {
    const times = [1e12, 1e12 + step];
    const set = senderWith({ attemptMs: 100, clock: { now: () => times.shift() ?? 0 } });
    const begun = performance.now();
    const { at, durationMs } = await set.send(deliveryTo(receiver.url));
    const mostMs = Math.ceil(performance.now() - begun);
    assert.equal(at, 1e12);
    assert.ok(Number.isInteger(durationMs) && durationMs >= 99 && durationMs <= mostMs, `${durationMs} ms`);
  }
  await receiver.stop();
});

test('a refused connection is a failure with the address tried', async () => {
  const attempt = await sender.send(deliveryTo(`http://127.0.0.1:${await freePort()}/`));
  assert.equal(attempt.error, 'The receiver refused the connection.');
  assert.equal(attempt.address, '127.0.0.1');
});

test("a name's addresses are tried, and the attempt has the one that accepted", async () => {
  const receiver = await startReceiver();
  // Nothing listens at the first address.
  const addresses = ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 }));
  const named = senderWith({ resolve: async () => addresses });
  const url = `http://plants.example:${receiver.port}/`;
  assert.equal((await named.send(deliveryTo(url))).address, '127.0.0.1');
  assert.equal((await named.send(deliveryTo(url))).address, '127.0.0.1');
  await receiver.stop();
  const refused = await named.send(deliveryTo(url));
  assert.deepEqual([refused.error, refused.address], ['The receiver refused the connection.', '127.0.0.2']);
});

test('of many addresses of a name, eight of each kind are tried', async () => {
  const receiver = await startReceiver();
  for (const [others, reason] of [
    [7, undefined],
    [8, 'The receiver refused the connection.'],
  ] as const) {
    // Nothing listens at the other addresses.
    const refusing = Array.from({ length: others }, (_, n) => `127.0.0.${n + 2}`);
    const addresses = [...refusing, '127.0.0.1'].map((address) => ({ address, family: 4 }));
    const named = senderWith({ resolve: async () => addresses });
    const attempt = await named.send(deliveryTo(`http://plants.example:${receiver.port}/`));
    assert.equal(failureOf(attempt), reason);
  }
  await receiver.stop();
});

test('a stop ends running attempts, and starts no others', async () => {
  const stopped = senderWith();
  const receiver = await startReceiver();
  receiver.usually('hang');
  const attempts = [1, 2, 3].map(() => stopped.send(deliveryTo(receiver.url)));
  await receiver.receive(3);
  await Promise.all([stopped.stop(), stopped.stop()]);
  for (const attempt of attempts) assert.equal((await attempt).error, 'The service stopped.');
  assert.equal((await stopped.send(deliveryTo(receiver.url))).error, 'The service stopped.');
  assert.equal(receiver.received.length, 3);
  await receiver.stop();
});

test('a stop closes idle connections', async () => {
  const stopped = senderWith();
  const server = createServer((_, response) => void response.end());
  await using receiver = await listening(server, 'http');
  await Promise.all([1, 2, 3].map(() => stopped.send(deliveryTo(receiver.url))));
  const closed = new Promise<void>((resolve) => {
    const check = () => server.getConnections((_, count) => (count === 0 ? resolve() : setImmediate(check)));
    check();
  });
  await stopped.stop();
  await closed;
});

/** A receiver that answers once `shared[0]` is set, and then sets `shared[1]`. */
const ANSWERS_WHEN_TOLD = `
  const { createServer } = require('node:http');
  const { parentPort, workerData: shared } = require('node:worker_threads');
  const server = createServer((request, response) => {
    parentPort.postMessage('received');
    Atomics.wait(shared, 0, 0);
    response.writeHead(204).end(() => {
      Atomics.store(shared, 1, 1);
      Atomics.notify(shared, 1);
    });
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

test('an answer that arrives in time counts, even if this process is suspended beyond the deadline', async (t) => {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(ANSWERS_WHEN_TOLD, { eval: true, workerData: shared });
  t.after(() => worker.terminate());
  const [port]: number[] = await once(worker, 'message');
  const sent = senderWith({ attemptMs: 1_000 }).send(deliveryTo(`http://127.0.0.1:${port}/`));
  await once(worker, 'message');
  Atomics.store(shared, 0, 1);
  Atomics.notify(shared, 0);
  Atomics.wait(shared, 1, 0);
  // Nothing runs in this thread until the deadline is over.
  Atomics.wait(shared, 1, 1, 1_000);
  const attempt = await sent;
  assert.deepEqual([attempt.status, attempt.error], [204, undefined]);
});

/** A receiver that accepts nothing for 0.8 s, so that the system drops the first packet of further connections. */
const BUSY = `
  const { createServer } = require('node:http');
  const { parentPort } = require('node:worker_threads');
  const server = createServer((_, response) => response.writeHead(204).end());
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800);
  });
`;

test('a receiver with a second address has time for a repeated packet at its first', async (t) => {
  const worker = new Worker(BUSY, { eval: true });
  t.after(() => worker.terminate());
  const [port]: number[] = await once(worker, 'message');
  // As many as the system accepts for it.
  for (let waiting = 0; waiting < 4; waiting++) {
    const socket = connect(port ?? 0, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    await Promise.race([once(socket, 'connect'), pause(20)]);
  }
  const resolve = async () => ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  const attempt = await senderWith({ resolve }).send(deliveryTo(`http://busy.example:${port}/`));
  assert.deepEqual([attempt.status, attempt.error], [204, undefined]);
});
