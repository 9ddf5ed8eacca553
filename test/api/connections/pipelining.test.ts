import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { http as limits } from '../../../src/limits.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { openRaw } from '../../../testkit/sockets/raw-client.ts';
import { chunk, head, usual } from '../../../testkit/sockets/raw-request.ts';

const service = await startService();
after(() => service.stop());

const fields = usual(service);
const list = head('GET /plants?limit=1 HTTP/1.1', ...fields);

function creation(id: number): string {
  const body = `{"id": ${id}, "name": "Alder"}`;
  const type = 'Content-Type: application/json';
  return head('POST /plants HTTP/1.1', ...fields, type, `Content-Length: ${body.length}`) + body;
}

test('any number of requests may follow each other without waiting, and are answered in their order', async () => {
  const connection = await openRaw(service.port);
  const ids = Array.from({ length: 300 }, (_, n) => n + 1);
  await connection.send(ids.map((id) => creation(id) + list).join(''));
  for (const id of ids) {
    const created = await connection.answer();
    succeeded(created, 201);
    assert.equal(created.headers.get('location'), `/plants/${id}`);
    succeeded(await connection.answer(), 200);
  }
  connection.close();
});

test('no request overtakes the one before it', async () => {
  const connection = await openRaw(service.port);
  const body = '{"id": 1000, "name": "Alder"}';
  const chunked = 'Transfer-Encoding: chunked';
  const create = head('POST /plants HTTP/1.1', ...fields, 'Content-Type: application/json', chunked);
  const remove = head('DELETE /plants/1000 HTTP/1.1', ...fields);
  await connection.send((create + chunk(body) + chunk('') + remove).repeat(50));
  for (let n = 0; n < 50; n++) {
    succeeded(await connection.answer(), 201);
    succeeded(await connection.answer(), 204);
  }
  connection.close();
});

test('a failed request does not delay those after it', async () => {
  const connection = await openRaw(service.port);
  const missing = head('GET /none HTTP/1.1', ...fields);
  const refused = head('GET /plants HTTP/1.1', 'Host: x');
  await connection.send((missing + refused + creation(1)).repeat(20) + list);
  for (let n = 0; n < 20; n++) {
    failed(await connection.answer(), 40400);
    failed(await connection.answer(), 40100);
    failed(await connection.answer(), 40900);
  }
  succeeded(await connection.answer(), 200);
  connection.close();
});

test('a client that reads no answers has only a few of its requests run, and the rest once it reads', async () => {
  const reader = await service.tokenFor('reader');
  const name = '\u0001'.repeat(255);
  const creations = Array.from({ length: 1_000 }, () =>
    service.request('POST', '/plants', { token: reader, body: { name, tag: name } }),
  );
  for (const created of await Promise.all(creations)) succeeded(created, 201);

  const socket = connect(service.port, '127.0.0.1').pause();
  await once(socket, 'connect');
  // Three megabytes each: more than the system buffers for a client that does not read.
  const long = head('GET /plants HTTP/1.1', 'Host: x', `Authorization: Bearer ${reader}`);
  socket.write(long.repeat(limits.pipelinedRequests + 8) + creation(1_000_000));
  for (let n = 0; n < 50; n++) succeeded(await service.request('GET', '/plants?limit=1'), 200);
  failed(await service.request('DELETE', '/plants/1000000'), 40401);

  for await (const part of socket) {
    if (String(part).includes('location: /plants/1000000')) break;
  }
  succeeded(await service.request('DELETE', '/plants/1000000'), 204);
});

test('a connection that sends too many requests at once is closed, and others are not affected', async (t) => {
  const bounds: { waitingRequests: number } = limits;
  t.mock.property(bounds, 'waitingRequests', 400);
  for (let n = 0; n < 20; n++) {
    const flood = await openRaw(service.port);
    await flood.send(list.repeat(200));
    await assert.rejects(async () => {
      for (let m = 0; m < 200; m++) await flood.answer();
    }, /before an answer/);
  }
  const connection = await openRaw(service.port);
  await connection.send(list.repeat(30));
  for (let n = 0; n < 30; n++) succeeded(await connection.answer(), 200);
  connection.close();
});

test('a client that leaves while its requests wait harms nobody', async () => {
  for (let n = 0; n < 20; n++) {
    const socket = connect(service.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(list.repeat(100), () => socket.resetAndDestroy());
    await once(socket, 'close');
  }
  succeeded(await service.request('GET', '/plants?limit=1'), 200);
});
