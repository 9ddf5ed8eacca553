import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import { parseNetworks } from '../../src/webhooks/addresses.ts';
import { createResolve } from '../../src/webhooks/resolver.ts';
import { createTarget, type Resolve, TargetRefused } from '../../src/webhooks/target.ts';

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

const refused: [url: string, rule: string][] = [
  ['', 'url'],
  ['/hook', 'url'],
  ['example.com', 'url'],
  ['https://', 'url'],
  ['https://exa mple.com/', 'url'],
  [' https://public.example/', 'url'],
  ['https://public.exa\nmple/', 'url'],
  ['https://public.example/a b', 'url'],
  ['https://[::1/', 'url'],
  ['https://256.256.256.256/', 'url'],
  ['https://public.example:70000/', 'url'],
  ['http://public.example/', 'scheme'],
  ['ftp://public.example/', 'scheme'],
  ['file:///etc/passwd', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['https://user@public.example/', 'user-info'],
  ['https://:secret@public.example/', 'user-info'],
  ['https://public.example@127.0.0.1/', 'user-info'],
  [`https://public.example/${'a'.repeat(2048)}`, 'length'],
  [`https://public.example/${'é'.repeat(500)}`, 'length'],
  ['https://127.0.0.1/', 'loopback'],
  ['http://127.0.0.1/', 'loopback'],
  ['https://127.0.0.1:8443/a?b#c', 'loopback'],
  ['https://127.0.0.1./', 'loopback'],
  ['https://127.1/', 'loopback'],
  ['https://2130706433/', 'loopback'],
  ['https://0x7f000001/', 'loopback'],
  ['https://0x7f.0.0.1/', 'loopback'],
  ['https://0177.0.0.1/', 'loopback'],
  ['https://%31%32%37.0.0.1/', 'loopback'],
  ['https://①②⑦.0.0.1/', 'loopback'],
  ['https://127。0。0。1/', 'loopback'],
  ['https:127.0.0.1/', 'loopback'],
  ['https:\\\\127.0.0.1\\', 'loopback'],
  ['https://0/', 'unspecified'],
  ['https://[::]/', 'unspecified'],
  ['https://[::1]/', 'loopback'],
  ['https://[0:0:0:0:0:0:0:1]/', 'loopback'],
  ['https://[::ffff:127.0.0.1]/', 'loopback'],
  ['https://[::ffff:7f00:1]/', 'loopback'],
  ['https://[::7f00:1]/', 'embedded-ipv4'],
  ['https://[64:ff9b::7f00:1]/', 'embedded-ipv4'],
  ['https://[2002:7f00:1::]/', 'embedded-ipv4'],
  ['https://169.254.169.254/latest/meta-data/', 'link-local'],
  ['https://[fe80::1]/', 'link-local'],
  ['https://[fd00:ec2::254]/', 'private'],
  ['https://localhost/', 'loopback'],
  ['https://LOCALHOST/', 'loopback'],
  ['https://localhost./', 'loopback'],
  ['https://a.localhost/', 'loopback'],
  ['https://a.b.localhost./', 'loopback'],
  ['https://inside.example/', 'private'],
  ['https://mixed.example/', 'private'],
  ['https://both.example/', 'loopback'],
];

test('a URL that may not be a target is refused with the name of its rule', async () => {
  for (const [url, rule] of refused) assert.equal(await ruleOf(url), rule, url);
});

test('a public https URL is accepted, also when its name does not resolve yet', async () => {
  const accepted = ['https://public.example/', 'https://later.example/', 'https://93.184.215.14:8443/x?y=1'];
  for (const url of [
    ...accepted,
    'https://[2606:4700::1111]/',
    'HTTPS://PUBLIC.example',
    'https://notlocalhost/',
  ]) {
    assert.equal(await ruleOf(url), undefined, url);
  }
});

test('an allowed network admits its addresses, and plain http to them alone', async () => {
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

test('a host in an allowed network keeps only the addresses that are admitted', () => {
  const target = targetWith('127.0.0.0/8');
  const admitted = (protocol: string, addresses: string[]) =>
    target.admit({ protocol, hostname: 'x' }, addresses.map(toLookup)).map(({ address }) => address);
  assert.deepEqual(admitted('http:', ['127.0.0.1', '::1']), ['127.0.0.1']);
  assert.deepEqual(admitted('https:', ['::1', '127.0.0.1', '93.184.215.14']), ['127.0.0.1', '93.184.215.14']);
  assert.deepEqual(admitted('http:', ['93.184.215.14', '127.0.0.1']), ['127.0.0.1']);
  assert.throws(() => admitted('https:', ['93.184.215.14', '::1']), TargetRefused);
});

test('localhost is admitted when 127.0.0.0/8 is, although it is ::1 as well', async () => {
  assert.equal(await ruleOf('http://localhost:3000/', '127.0.0.0/8'), undefined);
  assert.equal(await ruleOf('http://both.example/', '127.0.0.0/8'), undefined);
});

test('the refusal of a name does not tell which address it has', async () => {
  await assert.rejects(
    targetWith().check('https://inside.example/'),
    (error: Error) => !/10\./.test(error.message),
  );
});

test('a look-up that hangs does not hold up the making of a webhook', async () => {
  await targetWith('', () => new Promise(() => {})).check('https://slow.example/');
});

test('look-ups of one name at the same time are one, and nothing is remembered after it', async () => {
  const answers: (() => void)[] = [];
  const look = createResolve((hostname, _, callback) => {
    const address = `192.0.2.${answers.length}`;
    answers.push(() => callback(null, hostname === 'a.example' ? [{ address, family: 4 }] : []));
  });
  const first = Promise.all([look('a.example'), look('a.example')]);
  assert.equal(answers.length, 1);
  answers[0]?.();
  assert.deepEqual(await first, [[toLookup('192.0.2.0')], [toLookup('192.0.2.0')]]);
  const second = look('a.example');
  answers[1]?.();
  assert.deepEqual(await second, [toLookup('192.0.2.1')]);
});

test('a look-up that failed is made anew', async () => {
  let calls = 0;
  const look = createResolve((_, __, callback) => {
    calls++;
    queueMicrotask(() => callback(new Error('down'), []));
  });
  await assert.rejects(look('a.example'), /down/);
  await assert.rejects(look('a.example'), /down/);
  assert.equal(calls, 2);
});
