import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  addressRules,
  formatNetworks,
  isAllowed,
  parseNetworks,
  refusal,
} from '../../../src/webhooks/sending/addresses.ts';

/** First and last address of every forbidden range, with its rule. */
const refused: [rule: string, first: string, last: string][] = [
  ['unspecified', '0.0.0.0', '0.255.255.255'],
  ['private', '10.0.0.0', '10.255.255.255'],
  ['shared', '100.64.0.0', '100.127.255.255'],
  ['loopback', '127.0.0.0', '127.255.255.255'],
  ['link-local', '169.254.0.0', '169.254.255.255'],
  ['private', '172.16.0.0', '172.31.255.255'],
  ['reserved', '192.0.0.0', '192.0.0.255'],
  ['documentation', '192.0.2.0', '192.0.2.255'],
  ['reserved', '192.31.196.0', '192.31.196.255'],
  ['reserved', '192.52.193.0', '192.52.193.255'],
  ['reserved', '192.88.99.0', '192.88.99.255'],
  ['reserved', '192.175.48.0', '192.175.48.255'],
  ['private', '192.168.0.0', '192.168.255.255'],
  ['benchmarking', '198.18.0.0', '198.19.255.255'],
  ['documentation', '198.51.100.0', '198.51.100.255'],
  ['documentation', '203.0.113.0', '203.0.113.255'],
  ['multicast', '224.0.0.0', '239.255.255.255'],
  ['reserved', '240.0.0.0', '255.255.255.255'],
  ['unspecified', '::', '::'],
  ['loopback', '::1', '::1'],
  ['embedded-ipv4', '::2', '::ffff:ffff'],
  ['embedded-ipv4', '::ffff:0:0:0', '::ffff:0:ffff:ffff'],
  ['embedded-ipv4', '64:ff9b::', '64:ff9b::ffff:ffff'],
  ['embedded-ipv4', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['reserved', '100::', '100::ffff:ffff:ffff:ffff'],
  ['embedded-ipv4', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['benchmarking', '2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['embedded-ipv4', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['reserved', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['private', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['link-local', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['private', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

test('the first and the last address of every special range are refused by their rule', () => {
  for (const [rule, first, last] of refused) {
    assert.equal(refusal(first), rule, first);
    assert.equal(refusal(last), rule, last);
  }
});

test('the neighbours of the special ranges are public', () => {
  const neighbours = [
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '191.255.255.255',
    '192.0.1.0',
    '192.0.3.0',
    '192.31.195.255',
    '192.31.197.0',
    '192.88.98.255',
    '192.88.100.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.255',
    '198.51.101.0',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '2001:200::',
    '2001:db7:ffff::',
    '2001:db9::',
    '2003::',
    '3ffe:ffff::',
    '2606:4700::1111',
  ];
  for (const address of neighbours) assert.equal(refusal(address), undefined, address);
});

test('an IPv4 address mapped into IPv6 counts as that IPv4 address', () => {
  assert.equal(refusal('::ffff:127.0.0.1'), 'loopback');
  assert.equal(refusal('::ffff:7f00:1'), 'loopback');
  assert.equal(refusal('::ffff:a9fe:a9fe'), 'link-local');
  assert.equal(refusal('::ffff:8.8.8.8'), undefined);
});

const networks = Object.values(addressRules).flatMap((rule): readonly string[] => rule.networks);

/** Another implementation, for plain networks. */
const blocked = new BlockList();
for (const network of networks) {
  const [address = '', bits] = network.split('/');
  blocked.addSubnet(address, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4');
}

function ipv4(number: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join('.');
}

function ipv6(number: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => (number >> BigInt(16 * (7 - i))) & 0xffffn);
  return groups.map((group) => group.toString(16)).join(':');
}

function numberOf(groups: string): bigint {
  return groups.split(':').reduce((sum, group) => (sum << 16n) + BigInt(`0x${group}`), 0n);
}

const anyIpv4 = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n });
const anyIpv6 = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });

test('an IPv4 address is refused exactly when it lies in one of the networks', () => {
  fc.assert(
    fc.property(anyIpv4, (number) => {
      const address = ipv4(number);
      assert.equal(refusal(address) !== undefined, blocked.check(address, 'ipv4'), address);
    }),
    { numRuns: 2000 },
  );
});

test('an IPv6 address is refused when it lies in one of the networks, or in no global ones', () => {
  const global = new BlockList();
  global.addSubnet('2000::', 3, 'ipv6');
  // Reserved for protocols (RFC 6890), and not checked in detail here.
  const special = new BlockList();
  special.addSubnet('2001::', 23, 'ipv6');
  special.addSubnet('2620:4f:8000::', 48, 'ipv6');
  const anyGlobal = anyIpv6.map((number) => (number & (2n ** 125n - 1n)) | (1n << 125n));
  fc.assert(
    fc.property(fc.oneof(anyIpv6, anyGlobal), (number) => {
      const address = ipv6(number);
      const isRefused = blocked.check(address, 'ipv6') || !global.check(address, 'ipv6');
      if (isRefused) assert.notEqual(refusal(address), undefined, address);
      else if (!special.check(address, 'ipv6')) assert.equal(refusal(address), undefined, address);
    }),
    { numRuns: 2000 },
  );
});

test('the special ranges that only the address library knows are named, too', () => {
  const special = [
    '192.31.196.1',
    '192.52.193.1',
    '192.175.48.1',
    '2001:3::1',
    '2001:20::1',
    '2620:4f:8000::1',
  ];
  for (const address of special) {
    assert.equal(refusal(address), 'reserved', address);
    assert.ok(blocked.check(address, address.includes(':') ? 'ipv6' : 'ipv4'), address);
  }
});

test('every address in a refused network is refused', () => {
  const any = fc.tuple(fc.constantFrom(...networks), anyIpv6);
  fc.assert(
    fc.property(any, ([network, random]) => {
      const [front = '', bits] = network.split('/');
      if (network.includes(':')) {
        const [head = '', tail = ''] = front.split('::');
        const zeros = 8 - [head, tail].flatMap((part) => (part === '' ? [] : part.split(':'))).length;
        const filled = [head, ...Array.from({ length: zeros }, () => '0'), tail].filter(
          (part) => part !== '',
        );
        const mask = 2n ** BigInt(128 - Number(bits)) - 1n;
        assert.notEqual(refusal(ipv6(numberOf(filled.join(':')) | (random & mask))), undefined);
      } else {
        const base = front.split('.').reduce((sum, byte) => (sum << 8n) + BigInt(byte), 0n);
        const mask = 2n ** BigInt(32 - Number(bits)) - 1n;
        assert.notEqual(refusal(ipv4(base | (random & mask))), undefined);
      }
    }),
    { numRuns: 2000 },
  );
});

/** The ways to embed an IPv4 address in IPv6; the first one is unwrapped on input. */
const embeddings: Record<string, (ipv4: bigint) => bigint> = {
  mapped: (address) => numberOf('0:0:0:0:0:ffff:0:0') | address,
  compatible: (address) => address,
  translated: (address) => numberOf('0:0:0:0:ffff:0:0:0') | address,
  nat64: (address) => numberOf('64:ff9b:0:0:0:0:0:0') | address,
  'local nat64': (address) => numberOf('64:ff9b:1:0:0:0:0:0') | address,
  '6to4': (address) => numberOf('2002:0:0:0:0:0:0:0') | (address << 80n),
  teredo: (address) => numberOf('2001:0:0:0:0:0:0:0') | (address ^ 0xffffffffn),
  'teredo server': (address) => numberOf('2001:0:0:0:0:0:0:0') | (address << 64n),
};
for (const [name, embed] of Object.entries(embeddings)) {
  test(`an IPv4 address in IPv6 (${name}) is refused wherever it is refused by itself`, () => {
    fc.assert(
      fc.property(anyIpv4, (number) => {
        const address = ipv6(embed(number));
        if (name === 'mapped') assert.equal(refusal(address), refusal(ipv4(number)), address);
        else assert.notEqual(refusal(address), undefined, address);
      }),
    );
  });
}

test('an address in unallocated IPv6 space is refused', () => {
  for (const address of ['1::', '200::1', '4000::1', '8000::', 'e000::', 'fe00::1']) {
    assert.equal(refusal(address), 'reserved', address);
  }
});

test('a scoped address is judged without its scope, and anything but an address is refused', () => {
  assert.equal(refusal('fe80::1%eth0'), 'link-local');
  for (const text of ['', 'example.com', '1.2.3.4.5', '127.0.0.1.', ':::']) {
    assert.equal(refusal(text), 'reserved', text);
  }
});

test('allowed networks admit what they contain and nothing else', () => {
  const allowed = parseNetworks('127.0.0.0/8, 10.1.2.3/32,fd00::/8');
  assert.equal(refusal('127.0.0.1', allowed), undefined);
  assert.equal(refusal('::ffff:127.0.0.1', allowed), undefined);
  assert.equal(refusal('10.1.2.3', allowed), undefined);
  assert.equal(refusal('fd12::1', allowed), undefined);
  assert.equal(refusal('10.1.2.4', allowed), 'private');
  assert.equal(refusal('fc00::1', allowed), 'private');
  assert.equal(refusal('::1', allowed), 'loopback');
  assert.equal(isAllowed('8.8.8.8', allowed), false);
  assert.equal(isAllowed('127.9.9.9', allowed), true);
});

test('networks are written in the form in which they are read', () => {
  const text = '127.0.0.0/8,10.1.2.3/32,fd00::/8,::1/128,0.0.0.0/0';
  assert.deepEqual(parseNetworks(formatNetworks(parseNetworks(text))), parseNetworks(text));
  assert.equal(formatNetworks([]), '');
});

test('an empty list of networks allows none', () => {
  assert.deepEqual(parseNetworks(''), []);
  assert.deepEqual(parseNetworks(' , '), []);
});

test('wrong networks are refused, and all of them are named', () => {
  const bad = [
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0/8',
    '010.0.0.0/8',
    '0x7f.0.0.0/8',
    '::1',
    '::/129',
    'fe80::1%a/64',
  ];
  for (const entry of [...bad, 'localhost/8', '10.0.0.0/-1', '::ffff:10.0.0.0/104']) {
    assert.throws(
      () => parseNetworks(`10.0.0.0/8,${entry}`),
      (error: Error) => {
        return error.message.endsWith(`wrong: "${entry}".`);
      },
      entry,
    );
  }
  assert.throws(() => parseNetworks('a,10.0.0.0/8,b'), /wrong: "a", "b"\.$/);
});
