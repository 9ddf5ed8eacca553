import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { refuseAtTheDoor } from '../../src/http/admission/door.ts';
import { gatherTurns } from '../../src/http/admission/turn.ts';
import { http as limits } from '../../src/limits.ts';

const state = { room: Infinity, writesAreFull: false, isDraining: false };

const refused: unknown[] = [];
const server = createServer((request, response) => {
  request.resume();
  response.end('inside');
});
const turns = gatherTurns(
  () => performance.now(),
  () => {},
  { sliceEnded: () => {}, room: () => state.room, refused: () => {} },
);
refuseAtTheDoor(server, {
  turns,
  writesAreFull: () => state.writesAreFull,
  isDraining: () => state.isDraining,
  measures: { refused: (code, request) => void refused.push([code, request?.method]) },
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());

// A server that listens on TCP has this kind of address.
const { port } = server.address() as AddressInfo;

async function ask(method: string, path: string, now: Partial<typeof state>): Promise<string> {
  Object.assign(state, { room: Infinity, writesAreFull: false, isDraining: false }, now);
  const init = method === 'POST' ? { method, body: 'x'.repeat(100_000) } : { method };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const text = await answer.text();
  if (answer.status === 200) return text;
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.equal(answer.headers.get('retry-after'), String(limits.retryAfterSeconds));
  return `${answer.status} ${/"error":(\d+)/.exec(text)?.[1]}`;
}

test('in an overload requests are refused, including bodies, and health checks are admitted', async () => {
  assert.equal(await ask('GET', '/plants', {}), 'inside');
  assert.equal(await ask('GET', '/plants', { room: 0 }), '503 50300');
  assert.equal(await ask('POST', '/plants', { room: 0 }), '503 50300');
  assert.deepEqual(refused, [
    [50300, 'GET'],
    [50300, 'POST'],
  ]);
  assert.equal(await ask('GET', '/healthz', { room: 0 }), 'inside');
  assert.equal(await ask('GET', '/readyz', { room: 0 }), 'inside');
  assert.equal(await ask('GET', '/plants', {}), 'inside');
});

test('while the write queue is full, writes are refused and reads are admitted', async () => {
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    assert.equal(await ask(method, '/plants', { writesAreFull: true }), '503 50300');
  }
  for (const method of ['GET', 'OPTIONS']) {
    assert.equal(await ask(method, '/plants', { writesAreFull: true }), 'inside');
  }
});

test('while the service drains, every request is admitted and told about it', async () => {
  assert.equal(await ask('GET', '/plants', { room: 0, isDraining: true }), 'inside');
});
