import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { openRaw, type RawConnection, sendInPieces } from '../../../testkit/sockets/raw-client.ts';
import type { RawAnswer } from '../../../testkit/sockets/raw-framing.ts';
import { head, usual } from '../../../testkit/sockets/raw-request.ts';

const service = await startService();
after(() => service.stop());

const fields = usual(service);
let lastId = 0;

const ASKS = [
  ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
  ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: AAAA', 'Sec-WebSocket-Version: 13'],
  ['connection: keep-alive, UPGRADE', 'upgrade: TLS/1.0, HTTP/1.1'],
  ['Connection: Upgrade', 'Upgrade:'],
  ['Upgrade: h2c'],
  ['Connection: upgrade'],
];

function creation(id: number, ...more: string[]): string {
  const body = `{"id":${id},"name":"Alder"}`;
  const type = 'Content-Type: application/json';
  return head('POST /plants HTTP/1.1', ...fields, ...more, type, `Content-Length: ${body.length}`) + body;
}

async function ids(): Promise<Set<number>> {
  const listed = succeeded(await service.request('GET', '/plants?fields=id'), 200);
  return new Set((listed as { id: number }[]).map(({ id }) => id));
}

/** Asserts that this is the last answer of the connection. */
async function isLast(connection: RawConnection, answer: RawAnswer): Promise<void> {
  assert.equal(answer.headers.get('connection'), 'close');
  assert.equal(await connection.ended(), 'closed');
  connection.close();
}

for (const size of [1, 50, Infinity]) {
  test(`nothing after a request for an upgrade is run, in pieces of ${size}`, async () => {
    for (const ask of ASKS) {
      const asking: [string, number][] = [
        [head('GET /plants?limit=1 HTTP/1.1', ...fields, ...ask), 200],
        [head('HEAD /plants?limit=1 HTTP/1.1', ...fields, ...ask), 200],
        [head('OPTIONS /plants HTTP/1.1', ...fields, ...ask), 204],
        [head('PUT /plants HTTP/1.1', ...fields, ...ask), 405],
        [head('GET /plants HTTP/1.1', 'Host: x', ...ask), 401],
        [creation(++lastId, ...ask), 201],
      ];
      for (const [bytes, status] of asking) {
        const [kept, dropped] = [++lastId, ++lastId];
        const connection = await openRaw(service.port);
        const behind = head(`DELETE /plants/${kept} HTTP/1.1`, ...fields) + creation(dropped);
        await sendInPieces(connection, creation(kept) + bytes + behind, size);
        succeeded(await connection.answer(), 201);
        const answer = await connection.answer({ bodiless: bytes.startsWith('HEAD') });
        assert.equal(answer.status, status, answer.text);
        await isLast(connection, answer);
        const left = await ids();
        assert.ok(left.has(kept) && !left.has(dropped), ask.join());
      }
    }
  });
}

test('the body of a request that is dropped after an upgrade is not parsed as a request', async () => {
  for (const ask of ASKS) {
    const kept = ++lastId;
    succeeded(await service.request('POST', '/plants', { body: { id: kept, name: 'Alder' } }), 201);
    const smuggled = head(`DELETE /plants/${kept} HTTP/1.1`, ...fields);
    const connection = await openRaw(service.port);
    await connection.send(
      head('GET /plants?limit=1 HTTP/1.1', ...fields, ...ask) +
        head('POST /plants HTTP/1.1', ...fields, `Content-Length: ${smuggled.length}`),
    );
    const answer = await connection.answer();
    succeeded(answer, 200);
    await connection.send(smuggled);
    await isLast(connection, answer);
    assert.ok((await ids()).has(kept), ask.join());
  }
});

test('a body after an upgrade is read, and nothing after it', async () => {
  const id = ++lastId;
  const connection = await openRaw(service.port);
  const [start = '', body = ''] = creation(id, ...(ASKS[0] ?? [])).split('\r\n\r\n');
  await connection.send(`${start}\r\n\r\n${body.slice(0, 5)}`);
  await service.request('GET', '/healthz');
  await connection.send(body.slice(5) + creation(++lastId));
  const answer = await connection.answer();
  succeeded(answer, 201);
  await isLast(connection, answer);
  const left = await ids();
  assert.ok(left.has(id) && !left.has(lastId));
});

test('a client that sends many requests after an upgrade has none of them run', async () => {
  const connection = await openRaw(service.port);
  const before = await ids();
  const behind = Array.from({ length: 2_000 }, () => creation(++lastId)).join('');
  await connection.send(
    head('GET /none HTTP/1.1', ...fields, 'Connection: Upgrade', 'Upgrade: h2c') + behind,
  );
  const answer = await connection.answer();
  failed(answer, 40400);
  await isLast(connection, answer);
  assert.deepEqual(await ids(), before);
});
