import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { shareConnections } from '../../src/http/admission/connection-share.ts';
import { parseNetworks } from '../../src/webhooks/sending/addresses.ts';

/** A server with this many places, and its clients. */
async function listen(t: TestContext, most: number, trusted = '') {
  const server = createServer((_request, response) => response.end());
  const clients: Socket[] = [];
  shareConnections(server, most, parseNetworks(trusted));
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  t.after(async () => {
    for (const client of clients) client.destroy();
    server.close();
    await once(server, 'close');
  });
  // A server that listens on TCP has this kind of address.
  const { port } = server.address() as AddressInfo;

  /** Opens a connection from this address; resolves with whether it is kept and serves a request. */
  async function isKept(localAddress: string): Promise<boolean> {
    const client = connect({ port, host: '127.0.0.1', localAddress });
    clients.push(client);
    client.on('error', () => {});
    client.write('HEAD / HTTP/1.1\r\nHost: x\r\n\r\n');
    return Promise.race([once(client, 'data').then(() => true), once(client, 'close').then(() => false)]);
  }

  /** How many of this address's connections it keeps. */
  async function keptOf(wanted: number, address: string): Promise<number> {
    let kept = 0;
    for (let n = 0; n < wanted; n++) if (await isKept(address)) kept++;
    return kept;
  }

  return { clients, isKept, keptOf };
}

test('one client cannot take all connections, and each further greedy client gets fewer', async (t) => {
  const { keptOf } = await listen(t, 90);
  assert.deepEqual(
    [
      await keptOf(90, '127.0.0.2'),
      await keptOf(90, '127.0.0.3'),
      await keptOf(90, '127.0.0.4'),
      await keptOf(1, '127.0.0.5'),
    ],
    [30, 20, 14, 1],
  );
});

test('a closed connection frees its place', async (t) => {
  const { clients, isKept, keptOf } = await listen(t, 9);
  assert.equal(await keptOf(9, '127.0.0.2'), 3);
  assert.equal(await isKept('127.0.0.2'), false);
  const [first] = clients;
  assert.ok(first);
  first.end();
  await once(first, 'close');
  assert.equal(await isKept('127.0.0.2'), true);
});

test('a trusted proxy may have any number', async (t) => {
  const { keptOf } = await listen(t, 9, '127.0.0.2/32');
  assert.equal(await keptOf(9, '127.0.0.2'), 9);
});
