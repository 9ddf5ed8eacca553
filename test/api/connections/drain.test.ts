import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { http as limits } from '../../../src/limits.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';
import { failureToConnect, openRaw } from '../../../testkit/sockets/raw-client.ts';
import { head, usual } from '../../../testkit/sockets/raw-request.ts';

const PLANT = '{"name":"Alder"}';

test('a service that stops finishes pending requests and refuses new ones', async () => {
  const service = await startService();
  const fields = usual(service);
  const underWay = await openRaw(service.port);
  const withBody = [...fields, 'Content-Type: application/json', `Content-Length: ${PLANT.length}`];
  await underWay.send(head('POST /plants HTTP/1.1', ...withBody) + PLANT.slice(0, 5));
  const late = await openRaw(service.port);
  await late.send('GET /plants HTTP/1.1\r\n');
  const idle = await openRaw(service.port);
  await idle.send(head('GET /readyz HTTP/1.1', 'Host: x'));
  succeeded(await idle.answer(), 200);

  const stopped = service.stop();
  assert.equal(await idle.ended(), 'closed');

  await late.send(`${fields.join('\r\n')}\r\n\r\n`);
  const refused = await late.answer();
  failed(refused, 50303);
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.equal(refused.headers.get('connection'), 'close');
  await late.ended();

  await underWay.send(PLANT.slice(5));
  const answer = await underWay.answer();
  succeeded(answer, 201);
  assert.equal(answer.headers.get('connection'), 'close');
  await underWay.ended();
  for (const connection of [underWay, late, idle]) connection.close();
  await stopped;

  assert.equal(await failureToConnect(service.port), 'ECONNREFUSED');
});

test('a service may be stopped twice, and does not wait for a client that keeps its connection', async () => {
  const service = await startService();
  const client = await openRaw(service.port);
  await client.send(head('GET /plants HTTP/1.1', ...usual(service)));
  succeeded(await client.answer(), 200);
  await Promise.all([service.stop(), service.stop()]);
  assert.equal(await client.ended(), 'closed');
  client.close();
});

test('a long answer that its client has not read yet arrives complete when the service stops', async () => {
  const service = await startService();
  await addPlants(service, 1000, '\u{1f331}'.repeat(255));
  const socket = connect({ port: service.port, host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.pause();
  const request = head('GET /events?limit=1000 HTTP/1.1', ...usual(service));
  socket.write(request.repeat(4));
  await once(socket, 'readable');
  const stopped = service.stop();
  // Long enough for the service to close idle connections several times.
  await delay(10 * limits.idleCheckMs);
  const [bytes] = await Promise.all([buffer(socket), stopped]);
  const answers = bytes.toString().split('HTTP/1.1 ').slice(1);
  for (const answer of answers) {
    const [fields = '', body = ''] = answer.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(fields)?.[1]);
    assert.equal(Buffer.byteLength(body), length);
  }
  // Requests queued behind the first answer are refused, and the last refusal announces the end of the connection.
  assert.deepEqual(
    answers.map((answer) => answer.slice(0, 3)),
    ['200', '503', '503', '503'],
  );
  assert.deepEqual(
    answers.map((answer) => /^connection: close\r$/im.test(answer)),
    [false, false, false, true],
  );
});

async function addPlants(service: Service, count: number, name: string): Promise<void> {
  await service.beside(async ({ store, runtime }) => {
    const owner = (await store.access.user('admin'))?.id ?? 0;
    const made = Array.from({ length: count }, () =>
      store.plants.create({ owner, id: undefined, name, tag: name, event: runtime.ids.next('evt'), at: 0 }),
    );
    await Promise.all(made);
  });
}
