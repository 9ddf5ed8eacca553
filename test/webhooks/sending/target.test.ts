import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../../src/errors.ts';
import { delivery } from '../../../src/limits.ts';
import { parseNetworks, refusal } from '../../../src/webhooks/sending/addresses.ts';
import { createTarget, type Resolve, TargetRefused } from '../../../src/webhooks/sending/target.ts';

const names: Record<string, string[]> = {
  'public.example': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example': ['10.0.0.5'],
  'mixed.example': ['93.184.215.14', '192.168.1.1'],
  'both.example': ['127.0.0.1', '::1'],
  'odd.example': ['93.184.215.14', '127.0.0.1'],
};

const resolve: Resolve = async (hostname) => {
  const addresses = names[hostname];
  if (addresses === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
  return addresses.map(toLookup);
};

function toLookup(address: string): LookupAddress {
  return { address, family: isIP(address) };
}

function targetWith(networks = '', lookup: Resolve = resolve) {
  return createTarget({ allowed: parseNetworks(networks), resolve: lookup, lookupMs: 20 });
}

async function ruleOf(url: string, networks = ''): Promise<string | undefined> {
  try {
    await targetWith(networks).check(url);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 42201, String(error));
    return /by the rule "([a-z0-9-]+)"/.exec(error.message)?.[1];
  }
}

/** A name of this many bytes, in labels of 61. */
function longName(bytes: number): string {
  return `${'a'.repeat(61)}.`.repeat(8).slice(0, bytes);
}

const refused: [url: string, rule: string][] = [
  ['', 'url'],
  ['/hook', 'url'],
  ['//public.example/', 'url'],
  ['example.com', 'url'],
  ['https://', 'url'],
  ['https://?a', 'url'],
  ['https:public.example/', 'url'],
  ['https:/public.example/', 'url'],
  ['https:///public.example/', 'url'],
  ['https:\\\\public.example\\', 'url'],
  ['https://public.example\\@127.0.0.1/', 'url'],
  ['https://public.example/a\\b', 'url'],
  ['https://exa mple.com/', 'url'],
  ['https://exa%20mple.com/', 'url'],
  [' https://public.example/', 'url'],
  ['\u00a0https://public.example/', 'url'],
  ['https://public.example/\u3000', 'url'],
  ['https://public.exa\nmple/', 'url'],
  ['https://public.exa\tmple/', 'url'],
  ['ht\ntps://public.example/', 'url'],
  ['https://public.example/\r', 'url'],
  ['\u0001https://public.example/', 'url'],
  ['https://public.example/\u0000', 'url'],
  ['https://public.example/a b', 'url'],
  ['https://public.example%00/', 'url'],
  ['https://public%2fexample/', 'url'],
  ['https://[::1/', 'url'],
  ['https://[::1%25lo]/', 'url'],
  ['https://[fe80::1%eth0]/', 'url'],
  ['https://[v1.x]/', 'url'],
  ['https://256.256.256.256/', 'url'],
  ['https://4294967296/', 'url'],
  ['https://127.0.0.08/', 'url'],
  ['https://1.2.3.4.5/', 'url'],
  ['https://public.example:65536/', 'url'],
  ['https://public.example:-1/', 'url'],
  ['https://public.example:a/', 'url'],
  ['https://public.example:0/', 'port'],
  ['https://public.example:00000/', 'port'],
  ['http://public.example/', 'scheme'],
  ['ftp://public.example/', 'scheme'],
  ['wss://public.example/', 'scheme'],
  ['file:///etc/passwd', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['data:,x', 'scheme'],
  ['blob:https://public.example/', 'scheme'],
  ['https+unix://public.example/', 'scheme'],
  ['about:blank', 'scheme'],
  ['https://user@public.example/', 'user-info'],
  ['https://user:secret@public.example/', 'user-info'],
  ['https://:secret@public.example/', 'user-info'],
  ['https://@public.example/', 'user-info'],
  ['https://:@public.example/', 'user-info'],
  ['https://public.example@127.0.0.1/', 'user-info'],
  ['https://127.0.0.1@public.example/', 'user-info'],
  [`https://public.example/${'a'.repeat(2048)}`, 'length'],
  [`https://public.example/${'é'.repeat(500)}`, 'length'],
  [`https://public.example/${'a'.repeat(10_240)}`, 'length'],
  [`https://${'a'.repeat(10_240)}.example/`, 'length'],
  [`https://public.example/?${'a'.repeat(10_240)}`, 'length'],
  [`https://public.example/#${'a'.repeat(10_240)}`, 'length'],
  [`https://${longName(254)}/`, 'host'],
  [`https://${longName(254)}./`, 'host'],
  [`https://${longName(256)}/`, 'host'],
  [`https://${'%61'.repeat(61)}.${longName(200)}/`, 'host'],
  [`https://${'é'.repeat(61)}.example/`, 'host'],
  [`https://${'a'.repeat(64)}.example/`, 'host'],
  [`https://public.${'a'.repeat(64)}./`, 'host'],
  [`https://${'a'.repeat(64)}.localhost/`, 'host'],
  ['https://public..example/', 'host'],
  ['https://public%2E%2eexample/', 'host'],
  ['https://public。．example/', 'host'],
  ['https://public.\u00ad.example/', 'host'],
  ['https://.public.example/', 'host'],
  ['https://public.example../', 'host'],
  ['https://127.0.0.1../', 'host'],
  ['https://localhost../', 'host'],
  ['https://./', 'host'],
  ['https://%2e/', 'host'],
  ['https://../', 'host'],
  ['https://xn--/', 'host'],
  ['https://xn--./', 'host'],
  ['https://xn--.example/', 'host'],
  ['https://XN--.example/', 'host'],
  ['https://public.%78n--.example/', 'host'],
  ['https://public.ｘｎ--/', 'url'],
  ['https://127.0.0.1/', 'loopback'],
  ['http://127.0.0.1/', 'loopback'],
  ['https://127.0.0.1:8443/a?b#c', 'loopback'],
  ['https://127.0.0.1./', 'loopback'],
  ['https://127.1/', 'loopback'],
  ['https://127.0.1/', 'loopback'],
  ['https://2130706433/', 'loopback'],
  ['https://0x7f000001/', 'loopback'],
  ['https://0X7F000001/', 'loopback'],
  ['https://0x7f.0.0.1/', 'loopback'],
  ['https://0x7f.1/', 'loopback'],
  ['https://0177.0.0.1/', 'loopback'],
  ['https://0000177.0.0.01/', 'loopback'],
  ['https://017700000001/', 'loopback'],
  ['https://%31%32%37.0.0.1/', 'loopback'],
  ['https://①②⑦.0.0.1/', 'loopback'],
  ['https://１２７.０.０.１/', 'loopback'],
  ['https://₁₂₇.⁰.0.¹/', 'loopback'],
  ['https://𝟏𝟐𝟕.𝟎.𝟎.𝟏/', 'loopback'],
  ['https://127。0．0｡1/', 'loopback'],
  ['https://127.0.0\u00ad.1/', 'loopback'],
  ['https://0/', 'unspecified'],
  ['https://0x/', 'unspecified'],
  ['https://255.255.255.255/', 'reserved'],
  ['https://4294967295/', 'reserved'],
  ['https://[::]/', 'unspecified'],
  ['https://[::1]/', 'loopback'],
  ['https://[0:0:0:0:0:0:0:1]/', 'loopback'],
  ['https://[0000::0001]/', 'loopback'],
  ['https://[::ffff:127.0.0.1]/', 'loopback'],
  ['https://[::FFFF:7F00:1]/', 'loopback'],
  ['https://[::ffff:169.254.169.254]/', 'link-local'],
  ['https://[::127.0.0.1]/', 'embedded-ipv4'],
  ['https://[::7f00:1]/', 'embedded-ipv4'],
  ['https://[::ffff:0:127.0.0.1]/', 'embedded-ipv4'],
  ['https://[64:ff9b::127.0.0.1]/', 'embedded-ipv4'],
  ['https://[64:ff9b:1::7f00:1]/', 'embedded-ipv4'],
  ['https://[2002:7f00:1::]/', 'embedded-ipv4'],
  ['https://[2001:0:7f00:1::80ff:fffe]/', 'embedded-ipv4'],
  ['https://169.254.169.254/latest/meta-data/', 'link-local'],
  ['https://2852039166/latest/meta-data/', 'link-local'],
  ['https://[fe80::1]/', 'link-local'],
  ['https://[fd00:ec2::254]/', 'private'],
  ['https://localhost/', 'loopback'],
  ['https://LOCALHOST/', 'loopback'],
  ['https://localhost./', 'loopback'],
  ['https://localhost:443/', 'loopback'],
  ['https://%6cocalhost/', 'loopback'],
  ['https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/', 'loopback'],
  ['https://loc\u00adalhost/', 'loopback'],
  ['https://a.localhost/', 'loopback'],
  ['https://a.b.localhost./', 'loopback'],
  ['https://localhost。/', 'loopback'],
  ['https://inside.example/', 'private'],
  ['https://INSIDE.example/', 'private'],
  ['https://mixed.example/', 'private'],
  ['https://both.example/', 'loopback'],
];

for (const [url, rule] of refused) {
  const shown = url.length > 60 ? `${url.slice(0, 40)}… of ${url.length} characters` : url;
  test(`${JSON.stringify(shown)} is refused by the rule "${rule}"`, async () => {
    assert.equal(await ruleOf(url), rule);
  });
}

test('a refused address names the setting that would allow it', async () => {
  await assert.rejects(
    targetWith().check('https://inside.example/'),
    /has a private network address\. The operator can allow it in WEBHOOK_ALLOWED_NETWORKS\.$/,
  );
});

const accepted = [
  'https://public.example/',
  'https://public.example',
  'HTTPS://PUBLIC.example',
  'https://public.example:443/',
  'https://public.example:22/',
  'https://public.example:65535/',
  'https://public.example/a%20b?c=%00&d=@#e',
  'https://public.example//a/../b',
  'https://pflänzchen.example/gärtner?größe=1',
  'https://例え.jp/',
  'https://later.example/',
  'https://public.example./',
  'https://public。example。/',
  `https://${longName(253)}/`,
  `https://${longName(253)}./`,
  `https://${'a'.repeat(63)}.example/`,
  `https://${'é'.repeat(50)}.example/`,
  'https://xn--pflnzchen-w5a.example/',
  'https://under_score.-.example/',
  'https://notlocalhost/',
  'https://localhost.example/',
  'https://127.0.0.1.example/',
  'https://93.184.215.14:8443/x?y=1',
  'https://1572395790/',
  'https://[2606:4700::1111]/',
  'https://[::ffff:93.184.215.14]/',
];
for (const url of accepted) {
  test(`${JSON.stringify(url)} is accepted, whether its name resolves or not`, async () => {
    assert.equal(await ruleOf(url), undefined);
  });
}

/** The ways to write a part of an IPv4 address. */
const spellings: ((part: number) => string)[] = [
  String,
  (part) => `0x${part.toString(16)}`,
  (part) => `0X00${part.toString(16).toUpperCase()}`,
  (part) => `0${part.toString(8)}`,
  (part) => `000${part.toString(8)}`,
];
const digits: ((text: string) => string)[] = [
  (text) => text,
  (text) => text.replace(/\d/g, (digit) => `%3${digit}`),
  (text) => text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (text) => text.replace(/\d/g, (digit) => String.fromCodePoint(0x2080 + Number(digit))),
  (text) => text.replace(/\d/g, (digit) => String.fromCodePoint(0x1d7ce + Number(digit))),
];

test('an IPv4 address is judged the same in every spelling', async () => {
  const inputs = [
    fc.nat({ max: 2 ** 32 - 1 }),
    fc.integer({ min: 1, max: 4 }),
    fc.array(fc.constantFrom(...spellings), { minLength: 4, maxLength: 4 }),
    fc.constantFrom(...digits),
    fc.constantFrom('.', '。', '．', '｡'),
    fc.constantFrom('', '.'),
  ] as const;
  await fc.assert(
    fc.asyncProperty(...inputs, async (address, parts, spell, draw, dot, end) => {
      const bytes = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255);
      // The last part stands for all remaining bytes.
      const front = bytes.slice(0, parts - 1);
      const numbers = [...front, address % 256 ** (5 - parts)];
      const host = numbers.map((part, i) => draw((spell[i] ?? String)(part))).join(dot);
      assert.equal(await ruleOf(`https://${host}${end}/`), refusal(bytes.join('.')));
    }),
  );
});

test('an allowed network admits its addresses, and plain http only to them', async () => {
  const networks = '127.0.0.0/8,10.0.0.0/24';
  const accepted = [
    'http://127.0.0.1:3000/',
    'https://127.0.0.1/',
    'http://inside.example/',
    'http://2130706433/',
  ];
  for (const url of accepted) assert.equal(await ruleOf(url, networks), undefined, url);
  assert.equal(await ruleOf('http://public.example/', networks), 'scheme');
  assert.equal(await ruleOf('http://93.184.215.14/', networks), 'scheme');
  assert.equal(await ruleOf('http://10.0.1.0/', networks), 'private');
  assert.equal(await ruleOf('http://[::1]/', networks), 'loopback');
});

test('a host in an allowed network keeps only its allowed addresses', () => {
  const target = targetWith('127.0.0.0/8');
  const admitted = (protocol: string, addresses: string[]) =>
    target.admit(protocol, addresses.map(toLookup)).map(({ address }) => address);
  assert.deepEqual(admitted('http:', ['127.0.0.1', '::1']), ['127.0.0.1']);
  assert.deepEqual(admitted('https:', ['::1', '127.0.0.1', '93.184.215.14']), ['127.0.0.1', '93.184.215.14']);
  assert.deepEqual(admitted('http:', ['93.184.215.14', '127.0.0.1']), ['127.0.0.1']);
  assert.throws(() => admitted('https:', ['93.184.215.14', '::1']), TargetRefused);
});

test('localhost is admitted when 127.0.0.0/8 is, although it is also ::1', async () => {
  assert.equal(await ruleOf('http://localhost:3000/', '127.0.0.0/8'), undefined);
  assert.equal(await ruleOf('http://both.example/', '127.0.0.0/8'), undefined);
});

test('the refusal of a name does not reveal its address', async () => {
  await assert.rejects(
    targetWith().check('https://inside.example/'),
    (error: Error) => !/10\./.test(error.message),
  );
});

test('a hanging lookup does not hold up creating a webhook', async () => {
  await targetWith('', () => new Promise(() => {})).check('https://slow.example/');
});

test('a webhook is created without a lookup while many names are looked up, however long that takes', async () => {
  const hanging = Promise.withResolvers<LookupAddress[]>();
  let asked = 0;
  const target = targetWith('', () => {
    asked++;
    return hanging.promise;
  });
  const check = () => target.check('https://slow.example/');
  await Promise.all(Array.from({ length: delivery.lookups + 20 }, check));
  await check();
  assert.equal(asked, delivery.lookups);
  hanging.resolve([]);
  await hanging.promise;
  await check();
  assert.equal(asked, delivery.lookups + 1);
});
