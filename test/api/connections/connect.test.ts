import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';
import { exchange, openRaw, type RawConnection, sendInPieces } from '../../../testkit/sockets/raw-client.ts';
import { chunk, head, usual } from '../../../testkit/sockets/raw-request.ts';

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

test('a client that sends CONNECT and resets the connection harms nobody', async () => {
  for (let n = 0; n < 20; n++) {
    const socket = connect(service.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(CONNECT, () => socket.resetAndDestroy());
    await once(socket, 'close');
  }
  succeeded(await service.request('GET', '/plants'), 200);
});

test('a client that sends CONNECT and stays connected does not delay the stop', async () => {
  const other = await startService();
  const socket = connect({ port: other.port, host: '127.0.0.1', allowHalfOpen: true });
  let answer = '';
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text;
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(CONNECT);
  await once(socket, 'end');
  assert.match(answer, /^HTTP\/1\.1 405 .*"error":40500/s);
  await other.stop();
  socket.destroy();
});

function creation(id: number): string {
  const body = `{"id":${id},"name":"Alder"}`;
  const type = 'Content-Type: application/json';
  const length = `Content-Length: ${body.length}`;
  return head('POST /plants HTTP/1.1', ...usual(service), type, length) + body;
}

async function ids(): Promise<number[]> {
  const listed = succeeded(await service.request('GET', '/plants?fields=id'), 200);
  return (listed as { id: number }[]).map(({ id }) => id);
}

/** Asserts that CONNECT is refused and the connection closed. */
async function refused(connection: RawConnection): Promise<void> {
  const answer = await connection.answer();
  failed(answer, 40500, /CONNECT/);
  assert.equal(answer.headers.get('allow'), 'DELETE, GET, HEAD, OPTIONS, PATCH, POST');
  assert.equal(answer.headers.get('connection'), 'close');
  assert.equal(await connection.ended(), 'closed');
  connection.close();
}

test('CONNECT is answered after the requests before it, and nothing after it is run', async () => {
  for (let n = 1; n <= 200; n++) {
    const connection = await openRaw(service.port);
    await connection.send(creation(n) + CONNECT + creation(1_000 + n));
    const created = await connection.answer();
    succeeded(created, 201);
    assert.equal(created.headers.get('location'), `/plants/${n}`);
    await refused(connection);
  }
  assert.deepEqual(
    await ids(),
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
});

test('CONNECT waits for many requests, byte by byte and in one packet', async () => {
  const before = await ids();
  for (const size of [1, Infinity]) {
    const connection = await openRaw(service.port);
    const first = 10_000 + (size === 1 ? 0 : 100);
    const made = Array.from({ length: 20 }, (_, i) => first + i);
    const sent = sendInPieces(connection, made.map(creation).join('') + CONNECT + creation(99), size);
    for (const id of made) {
      const created = await connection.answer();
      succeeded(created, 201);
      assert.equal(created.headers.get('location'), `/plants/${id}`);
      before.push(id);
    }
    await sent;
    await refused(connection);
  }
  assert.deepEqual(await ids(), before);
});

test('CONNECT waits for long answers that its client reads slowly', async () => {
  const name = '\u0001'.repeat(255);
  const reader = await service.tokenFor('reader');
  const creations = Array.from({ length: 1_000 }, () =>
    service.request('POST', '/plants', { token: reader, body: { name, tag: name } }),
  );
  for (const created of await Promise.all(creations)) succeeded(created, 201);
  const connection = await openRaw(service.port);
  const list = head('GET /plants HTTP/1.1', 'Host: x', `Authorization: Bearer ${reader}`);
  await connection.send(list + list + CONNECT);
  for (let n = 0; n < 2; n++) {
    const listed = succeeded(await connection.answer(), 200);
    assert.equal((listed as unknown[]).length, 1_000);
  }
  await refused(connection);
});

test('CONNECT without a host and a port is refused as unreadable', async () => {
  for (const target of ['/', 'x', 'x:', ':1', 'u@x:1', 'http://x/', '[::1', '*', '']) {
    failed(await exchange(service.port, head(`CONNECT ${target} HTTP/1.1`, 'Host: x')), 40000);
  }
  for (const target of ['x:1', '[::1]:443', '127.0.0.1:8080']) {
    failed(await exchange(service.port, head(`CONNECT ${target} HTTP/1.1`, 'Host: x')), 40500);
  }
});

test('CONNECT has no body', async () => {
  const before = await ids();
  const connection = await openRaw(service.port);
  const request = head('CONNECT x:1 HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked');
  await connection.send(request + chunk(creation(77)) + chunk(''));
  await refused(connection);
  assert.deepEqual(await ids(), before);
});
