import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { closeStalledReaders } from '../../src/http/admission/stalled-readers.ts';
import { buildServer, type ServerOptions } from '../../src/http/server.ts';
import { http as limits } from '../../src/limits.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
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
  closeStalledReaders(server, () => time.now);
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

test('setting the clock forward resets no client', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const time = { now: 0 };
  const options: Partial<ServerOptions> = {
    runtime: { ...systemRuntime(silentLog), clock: { now: () => time.now } },
    authFailureLimit: 0,
    answersApi: false,
    corsOrigins: [],
    drain: new AbortController().signal,
  };
  // Nothing else is used: no request is made.
  const app = await buildServer(options as ServerOptions);
  t.after(() => app.close());
  const connected = once(app.server, 'connection');
  await app.listen({ port: 0, host: '127.0.0.1' });
  // A server that listens on TCP has this kind of address.
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  client.pause();
  t.after(() => client.destroy());
  const [socket]: Socket[] = await connected;
  socket?.write(LONG);
  for (let sweeps = 0; sweeps < 10; sweeps++) {
    time.now += limits.stalledReaderMs + 1;
    t.mock.timers.tick(limits.sweepEveryMs);
    await setImmediate();
  }
  assert.equal(socket?.destroyed, false);
});
