import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { sending as limits } from '../../../src/limits.ts';
import { parseNetworks } from '../../../src/webhooks/sending/addresses.ts';
import { failureOf } from '../../../src/webhooks/sending/attempt.ts';
import { createConnections } from '../../../src/webhooks/sending/connections.ts';
import { createResolve } from '../../../src/webhooks/sending/resolver.ts';
import { createTarget } from '../../../src/webhooks/sending/target.ts';
import { deliveryTo, senderWith } from '../../../testkit/receivers/sending.ts';
import {
  eachRequest,
  listening,
  OK,
  reply,
  startSocketServer,
} from '../../../testkit/sockets/socket-server.ts';

const sender = senderWith();
const BROKEN_OFF = 'The connection was closed before the response was complete.';

/** Applies these steps to the requests, in the order in which they arrive; answers further ones. */
async function scripted(...steps: ((socket: Socket) => void)[]) {
  const requests: string[] = [];
  const server = await startSocketServer((socket) => {
    eachRequest(socket, (request) => {
      requests.push(/webhook-id: (\S+)/.exec(request)?.[1] ?? '');
      const step = steps[requests.length - 1] ?? ok;
      step(socket);
    });
  });
  return Object.assign(server, { requests });
}

function ok(socket: Socket): void {
  reply(socket, OK);
}

test("a webhook's deliveries share one connection", async () => {
  await using server = await scripted();
  for (let i = 0; i < 20; i++) assert.equal((await sender.send(deliveryTo(server.url))).excerpt, 'ok');
  assert.equal(server.connections(), 1);
});

test('concurrent requests have their own connections, which are reused', async () => {
  const waiting: (() => void)[] = [];
  const server = createServer((_, response) => void waiting.push(() => response.end('ok')));
  await using receiver = await listening(server, 'http');
  for (let round = 0; round < 3; round++) {
    const attempts = Array.from({ length: 5 }, () => sender.send(deliveryTo(receiver.url)));
    while (waiting.length < 5) await new Promise((resolve) => server.once('request', resolve));
    for (const answer of waiting.splice(0)) answer();
    for (const attempt of attempts) assert.equal((await attempt).excerpt, 'ok');
  }
  assert.equal(receiver.connections(), 5);
});

test('two webhooks with one receiver share no connection', async () => {
  await using server = await scripted();
  await sender.send(deliveryTo(server.url, 'wh_a'));
  await sender.send(deliveryTo(server.url, 'wh_b'));
  await sender.send(deliveryTo(server.url, 'wh_a'));
  assert.equal(server.connections(), 2);
});

test('a receiver beyond the number that is remembered does not itself make room', () => {
  const target = createTarget({ allowed: parseNetworks(''), resolve: createResolve() });
  const connections = createConnections(target);
  for (let n = 0; n < limits.receivers; n++) connections.to(`wh_${n}`, 'https://receiver.example/');
  const receiver = connections.to('wh_new', 'https://receiver.example/');
  assert.equal(connections.to('wh_new', 'https://receiver.example/'), receiver);
});

test('of many webhooks at most 512 connections are kept open, and no delivery is lost', async () => {
  let open = 0;
  let most = 0;
  const drained = Promise.withResolvers<void>();
  await using server = await startSocketServer((socket) => {
    open++;
    most = Math.max(most, open);
    socket.on('close', () => {
      open--;
      if (open === 512) drained.resolve();
    });
    eachRequest(socket, () => ok(socket));
  });
  const many = senderWith();
  for (let i = 0; i < 1100; i += 100) {
    const attempts = Array.from({ length: 100 }, (_, k) => many.send(deliveryTo(server.url, `wh_${i + k}`)));
    for (const attempt of attempts) assert.equal((await attempt).status, 200);
  }
  await drained.promise;
  assert.ok(most <= 612, `${most} connections at once`);
  assert.equal((await many.send(deliveryTo(server.url, 'wh_0'))).status, 200);
});

test('a webhook that gets another URL uses the new one, and the old connection is closed', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  await using before = await startSocketServer((socket) => {
    socket.on('close', () => resolve());
    eachRequest(socket, () => ok(socket));
  });
  await using after = await scripted();
  await sender.send(deliveryTo(before.url, 'wh_moved'));
  await sender.send(deliveryTo(after.url, 'wh_moved'));
  await closed;
  assert.equal(after.requests.length, 1);
});

test('a connection that the receiver closes between two deliveries costs nothing', async () => {
  await using server = await scripted(
    ...Array.from({ length: 5 }, () => (socket: Socket) => reply(socket, OK, 'end')),
  );
  for (let i = 0; i < 6; i++) {
    assert.equal(failureOf(await sender.send(deliveryTo(server.url))), undefined);
    // The next delivery sometimes meets the end of the connection, and sometimes follows it.
    if (i % 2 === 0) await new Promise(setImmediate);
  }
  assert.equal(new Set(server.requests).size, 6);
});

for (const how of ['end', 'destroy', 'resetAndDestroy'] as const) {
  test(`a kept connection that the receiver closes under the next request is replaced (${how})`, async () => {
    await using server = await scripted(ok, (socket) => socket[how]());
    await sender.send(deliveryTo(server.url));
    const delivery = deliveryTo(server.url);
    const attempt = await sender.send(delivery);
    assert.deepEqual([attempt.status, attempt.excerpt, attempt.error], [200, 'ok', undefined]);
    assert.equal(server.connections(), 2);
    // The receiver may have read the first one; the id identifies both.
    assert.deepEqual(server.requests.slice(1), [delivery.event.id, delivery.event.id]);
  });
}

test('a request is repeated only once, and only if no part of an answer arrived', async () => {
  const close = (socket: Socket) => socket.end();
  await using twice = await scripted(ok, close, close);
  await sender.send(deliveryTo(twice.url));
  assert.equal((await sender.send(deliveryTo(twice.url))).error, BROKEN_OFF);
  assert.equal(twice.requests.length, 3);

  await using begun = await scripted(ok, (socket) => reply(socket, 'HTTP/1.1 2', 'end'));
  await sender.send(deliveryTo(begun.url));
  assert.equal((await sender.send(deliveryTo(begun.url))).error, BROKEN_OFF);
  assert.equal(begun.requests.length, 2);
});

test('a new connection that closes without an answer is a failure at once', async () => {
  await using server = await scripted((socket) => socket.end());
  assert.equal((await sender.send(deliveryTo(server.url))).error, BROKEN_OFF);
  assert.equal(server.requests.length, 1);
});

for (const when of ['with it', 'after it'] as const) {
  test(`what a receiver sends beyond its answer, ${when}, is not used as the next one`, async () => {
    const no = 'HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n';
    let closed = Promise.withResolvers<void>();
    await using server = await startSocketServer((socket) => {
      socket.on('close', () => closed.resolve());
      socket.once('data', () => {
        if (when === 'with it') reply(socket, no + OK);
        else reply(socket, no);
        if (when === 'after it') setImmediate(() => reply(socket, OK));
      });
    });
    for (let i = 1; i <= 3; i++) {
      assert.equal((await sender.send(deliveryTo(server.url))).status, 500);
      await closed.promise;
      closed = Promise.withResolvers();
      assert.equal(server.connections(), i);
    }
  });
}

test('data from a receiver on an idle connection closes it', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  await using server = await scripted((socket) => {
    socket.on('close', () => resolve());
    ok(socket);
    // A timeout that some servers announce on an idle connection.
    setTimeout(() => reply(socket, 'HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n'), 20);
  });
  await sender.send(deliveryTo(server.url));
  await closed;
  assert.equal((await sender.send(deliveryTo(server.url))).status, 200);
});

test('a receiver that requests it gets a new connection each time', async () => {
  const close = 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';
  await using server = await scripted(
    (socket) => reply(socket, close),
    (socket) => reply(socket, close),
  );
  for (let i = 0; i < 3; i++) assert.equal((await sender.send(deliveryTo(server.url))).status, 200);
  assert.equal(server.connections(), 3);
});

test('a connection whose request was answered before it was read is not reused', async () => {
  await using server = await startSocketServer((socket) => {
    socket.pause();
    socket.write(OK);
  });
  const big = deliveryTo(server.url);
  big.event.plant.name = 'x'.repeat(8_000_000);
  assert.equal((await sender.send(big)).status, 200);
  assert.equal((await sender.send(deliveryTo(server.url))).status, 200);
  assert.equal(server.connections(), 2);
});
