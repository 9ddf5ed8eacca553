import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { http as limits } from '../../../src/limits.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { startService } from '../../../testkit/service/service.ts';
import { openRaw, type RawConnection } from '../../../testkit/sockets/raw-client.ts';
import { head, usual } from '../../../testkit/sockets/raw-request.ts';

// These tests take as long as the limit: together about eleven seconds.

const service = await startService();
after(() => service.stop());

const fields = usual(service);
const started = performance.now();
const watch = startWatch();

/** Asserts that the connection gets 408 and is closed, soon after the limit. */
async function timedOut(connection: RawConnection): Promise<void> {
  failed(await connection.answer(), 40800);
  await connection.ended();
  connection.close();
  const elapsed = performance.now() - started;
  assert.ok(elapsed > limits.headersMs - 1000, `${elapsed} ms`);
  assert.ok(watch.ms() < limits.headersMs + 5000, `${elapsed} ms`);
}

const stuck = await openRaw(service.port);
await stuck.send('GET /plants HTTP/1.1\r\nHost: local');
const halted = timedOut(stuck);

const silent = await openRaw(service.port);
const silenced = timedOut(silent);

const trickling = await openRaw(service.port);
await trickling.send('GET /plants HTTP/1.1\r\n');
const trickle = setInterval(() => trickling.send('X: y\r\n'), 250);
const trickled = timedOut(trickling).finally(() => clearInterval(trickle));

// The first request is complete, the second on the same connection is not.
const second = await openRaw(service.port);
await second.send(`${head('GET /plants HTTP/1.1', ...fields)}GET /plants`);
succeeded(await second.answer(), 200);
const secondHalted = timedOut(second);

test('a request whose header fields do not arrive in time is answered with 408', () => halted);

test('a connection that sends nothing at all is answered with 408', () => silenced);

test('a request whose header fields trickle is answered with 408', () => trickled);

test('a second request on a connection has as much time as the first', () => secondHalted);

test('many slow connections do not delay others', async () => {
  const slow = await Promise.all(Array.from({ length: 200 }, () => openRaw(service.port)));
  for (const connection of slow) await connection.send('POST /plants HTTP/1.1\r\nHost: x\r\nX');
  succeeded(await service.request('GET', '/plants'), 200);
  succeeded(await service.request('POST', '/plants', { body: { name: 'Alder' } }), 201);
  for (const connection of slow) connection.close();
});
