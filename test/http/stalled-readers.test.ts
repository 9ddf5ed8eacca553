import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { closeStalledReaders } from '../../src/http/admission/stalled-readers.ts';
import { http as limits } from '../../src/limits.ts';
import { head } from '../../testkit/sockets/raw-request.ts';

/** More than the system buffers of an unread answer. */
const LONG = Buffer.alloc(32 * 1024 * 1024, 'x');

test('a client that does not read its answer is reset, so that what it got does not look complete', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const time = { now: 0 };
  const server = createServer((_request, response) => {
    response.write(LONG);
    response.end();
  });
  closeStalledReaders(server, { now: () => time.now });
  server.listen(0, '127.0.0.1');
  const connected = once(server, 'connection');
  await once(server, 'listening');
  t.after(() => server.close());
  // A server that listens on TCP has this kind of address.
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.pause();
  // Only the end of the connection ends the answer to HTTP/1.0.
  client.write(head('GET / HTTP/1.0'));
  const [socket]: Socket[] = await connected;
  await once(client, 'readable');
  while (!socket?.destroyed) {
    time.now += limits.stalledReaderMs + 1;
    t.mock.timers.tick(limits.sweepEveryMs);
    await setImmediate();
  }
  await assert.rejects(buffer(client), { code: 'ECONNRESET' });
});
