import assert from 'node:assert/strict';
import { createServer, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { clientNetwork, peerNetwork } from '../../src/http/admission/client-address.ts';
import { parseNetworks } from '../../src/webhooks/sending/addresses.ts';

let trusted = '';
const server = createServer((received, response) => {
  response.end(clientNetwork(received, parseNetworks(trusted)));
});
before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
after(() => server.close());

/** The client of a request from 127.0.0.1 with these X-Forwarded-For fields. */
function clientWith(networks: string, ...forwardedFor: string[]): Promise<string> {
  return clientOf(networks, { 'x-forwarded-for': forwardedFor });
}

function clientOf(networks: string, headers: OutgoingHttpHeaders): Promise<string> {
  trusted = networks;
  // A server that listens on TCP has this kind of address.
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', headers });
    sent.on('error', reject).on('response', async (response) => {
      resolve(Buffer.concat(await response.toArray()).toString());
    });
    sent.end();
  });
}

const PROXIES = '127.0.0.0/8, 10.0.0.0/8, fd00::/8';

test('without a trusted proxy the client is the other end of the connection, whatever it says', async () => {
  assert.equal(await clientWith('', '203.0.113.7'), '127.0.0.1');
  assert.equal(await clientWith('10.0.0.0/8', '203.0.113.7'), '127.0.0.1');
});

test('a trusted proxy names the client in the last entry, however many precede it', async () => {
  assert.equal(await clientWith(PROXIES, '203.0.113.7'), '203.0.113.7');
  assert.equal(await clientWith(PROXIES, '192.0.2.1, 198.51.100.2,203.0.113.7'), '203.0.113.7');
  assert.equal(await clientWith(PROXIES, '192.0.2.1, 198.51.100.2', '203.0.113.7'), '203.0.113.7');
});

test('entries of further trusted proxies are skipped', async () => {
  assert.equal(await clientWith(PROXIES, '192.0.2.1, 203.0.113.7, 10.1.2.3', 'fd00::5'), '203.0.113.7');
  assert.equal(await clientWith(PROXIES, '10.9.9.9, 10.1.2.3'), '10.9.9.9');
});

test('entries before a malformed one are not trusted', async () => {
  const wrong = [
    'unknown',
    '_hidden',
    '',
    '203.0.113',
    '203.0.113.07',
    '1',
    '0x7f.1',
    'a b',
    '[::1',
    '::1]:5',
  ];
  for (const entry of wrong) {
    assert.equal(await clientWith(PROXIES, `203.0.113.7, ${entry}`), '127.0.0.1', entry);
    assert.equal(await clientWith(PROXIES, `203.0.113.7, ${entry}, 10.1.2.3`), '10.1.2.3', entry);
  }
});

test('ports, brackets, zones and IPv4 in IPv6 are understood', async () => {
  const spellings = {
    '203.0.113.7:4711': '203.0.113.7',
    '::ffff:203.0.113.7': '203.0.113.7',
    '[::ffff:203.0.113.7]:80': '203.0.113.7',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '[2001:db8:1:2::6]': '2001:db8:1:2::/64',
    '[2001:DB8:1:2::7]:443': '2001:db8:1:2::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '[fe80::2%25eth0]:1': 'fe80:0:0:0::/64',
  };
  for (const [entry, client] of Object.entries(spellings)) {
    assert.equal(await clientWith(PROXIES, entry), client, entry);
  }
  assert.equal(await clientWith(PROXIES, '203.0.113.7, [::ffff:10.0.0.1]:80'), '203.0.113.7');
});

test('Forwarded is ignored', async () => {
  assert.equal(await clientOf(PROXIES, { forwarded: 'for=203.0.113.7' }), '127.0.0.1');
});

test('each peer counts separately, and all closed connections count together', () => {
  assert.equal(peerNetwork('::ffff:127.0.0.1'), '127.0.0.1');
  assert.equal(peerNetwork('2001:db8:1:2::6'), '2001:db8:1:2::/64');
  assert.equal(peerNetwork(undefined), 'unknown');
});
