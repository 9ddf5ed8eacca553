import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';

const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
const strict = await startService();
after(() => Promise.all([service.stop(), strict.stop()]));

type Created = {
  id: string;
  url: string;
  status: string;
  secret: string;
  publicKey: string;
  createdAt: string;
};

async function createWebhook(body: unknown, token: string): Promise<Created> {
  const answer = await service.request('POST', '/webhooks', { body, token });
  // The first test below checks the members.
  return succeeded(answer, 201) as Created;
}

async function list(token: string): Promise<Created[]> {
  const answer = await service.request('GET', '/webhooks', { token });
  // The first test below checks the members.
  return succeeded(answer, 200) as Created[];
}

const remove = (id: string, token: string) => service.request('DELETE', `/webhooks/${id}`, { token });

test('a webhook is returned with its secret once, and listed without it', async () => {
  const token = await service.tokenFor('maker');
  const body = { url: 'http://127.0.0.1:9/hook', description: 'The greenhouse 🌱', rate: 1000 };
  const answer = await service.request('POST', '/webhooks', { body, token });
  // Checks every member.
  const { secret, ...shown } = succeeded(answer, 201) as Created;
  const { id, publicKey, createdAt } = shown;
  assert.deepEqual(shown, { id, ...body, status: 'enabled', publicKey, createdAt, waiting: 0, failed: 0 });
  assert.match(id, /^wh_[0-9a-hjkmnp-tv-z]{26}$/);
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/);
  assert.match(publicKey, /^whpk_[A-Za-z0-9+/]{43}=$/);
  assert.equal(new Date(createdAt).toISOString(), createdAt);
  assert.equal(answer.headers.get('location'), `/webhooks/${id}`);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.deepEqual(await list(token), [shown]);
});

test('webhooks are listed oldest first, and each has keys of its own', async () => {
  const token = await service.tokenFor('collector');
  const created = [];
  for (let i = 0; i < 3; i++) created.push(await createWebhook({ url: `http://127.0.0.1:9/${i}` }, token));
  const listed = await list(token);
  assert.deepEqual(
    listed.map(({ id }) => id),
    created.map(({ id }) => id),
  );
  assert.equal(new Set(created.flatMap(({ secret, publicKey }) => [secret, publicKey])).size, 6);
  assert.ok(listed.every((webhook) => !('description' in webhook) && !('secret' in webhook)));
});

test('a deleted webhook is gone', async () => {
  const token = await service.tokenFor('remover');
  const { id } = await createWebhook({ url: 'http://127.0.0.1:9/' }, token);
  const answer = await remove(id, token);
  succeeded(answer, 204);
  assert.deepEqual(await list(token), []);
  failed(await remove(id, token), 40402);
});

test('another user’s webhook can be neither seen nor deleted', async () => {
  const [owner, other] = [await service.tokenFor('hook-owner'), await service.tokenFor('hook-thief')];
  const { id } = await createWebhook({ url: 'http://127.0.0.1:9/' }, owner);
  failed(await remove(id, other), 40402);
  assert.deepEqual(await list(other), []);
  assert.equal((await list(owner)).length, 1);
});

test('an id that no webhook has is a 404', async () => {
  for (const id of [
    'wh_',
    'wh_01k9f3zv7h8q2m5x4c6d0n1r8t',
    '7',
    'evt_1',
    '%00',
    '%20',
    "'",
    'x'.repeat(1000),
  ]) {
    failed(await remove(id, service.token), 40402);
  }
});

test('a URL that may not be a target is refused, and the message names the rule', async () => {
  const rules: [rule: string, ...urls: string[]][] = [
    [
      'url',
      'nope',
      '/hook',
      'https://',
      'https://%',
      'https://8.8.8.8/a b',
      'https://8.8.8.8/\n',
      'https://8.8.8.8:99999/',
    ],
    [
      'scheme',
      'http://8.8.8.8/',
      'ftp://8.8.8.8/',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'ws://8.8.8.8/',
      'http://example.com/',
    ],
    ['user-info', 'https://user@8.8.8.8/', 'https://user:secret@8.8.8.8/', 'https://:x@8.8.8.8/'],
    [
      'loopback',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://localhost/',
      'https://LOCALHOST./',
      'https://a.localhost/',
    ],
    [
      'loopback',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://0177.0.0.1/',
      'https://[::ffff:127.0.0.1]/',
      'https://①②⑦.0.0.1/',
    ],
    [
      'private',
      'https://10.0.0.1/',
      'https://172.16.0.1/',
      'https://192.168.1.1/',
      'https://[fd00::1]/',
      'https://[fec0::1]/',
    ],
    ['link-local', 'https://169.254.169.254/latest/meta-data', 'https://[fe80::1]/'],
    ['shared', 'https://100.64.0.1/'],
    ['unspecified', 'https://0.0.0.0/', 'https://[::]/', 'https://0/'],
    ['multicast', 'https://224.0.0.1/', 'https://[ff02::1]/'],
    [
      'documentation',
      'https://192.0.2.1/',
      'https://203.0.113.1/',
      'https://[2001:db8::1]/',
      'https://[3fff::1]/',
    ],
    ['benchmarking', 'https://198.18.0.1/'],
    [
      'embedded-ipv4',
      'https://[64:ff9b::7f00:1]/',
      'https://[2002:7f00:1::]/',
      'https://[::7f00:1]/',
      'https://[2001::1]/',
    ],
    [
      'reserved',
      'https://240.0.0.1/',
      'https://255.255.255.255/',
      'https://192.88.99.1/',
      'https://[100::1]/',
    ],
  ];
  for (const [rule, ...urls] of rules) {
    for (const url of urls) {
      const answer = await strict.request('POST', '/webhooks', { body: { url } });
      const message = failed(answer, 42201, /refused/);
      assert.ok(message.includes(`"${rule}"`), `${url}: ${message}`);
    }
  }
  assert.deepEqual(succeeded(await strict.request('GET', '/webhooks'), 200), []);
});

test("the operator's allowed networks open nothing else", async () => {
  const token = await service.tokenFor('allowed');
  for (const url of [
    'http://8.8.8.8/',
    'http://10.0.0.1/',
    'https://10.0.0.1/',
    'http://[::1]/',
    'http://u@127.0.0.1/',
  ]) {
    failed(await service.request('POST', '/webhooks', { body: { url }, token }), 42201);
  }
});

test('a body that does not describe a webhook is refused', async () => {
  const url = 'https://8.8.8.8/';
  const wrong: [member: string, body: unknown][] = [
    ['url', {}],
    ['url', { url: '' }],
    ['url', { url: null }],
    ['url', { url: 7 }],
    ['url', { url: [url] }],
    ['url', { url: `${url}${'x'.repeat(2040)}` }],
    ['url', { url: `${url}${'x'.repeat(10_240)}` }],
    ['description', { url, description: null }],
    ['description', { url, description: 7 }],
    ['description', { url, description: '🌱'.repeat(256) }],
    ['description', { url, description: 'a\0' }],
    ...[0, -1, 1001, 1.5, 1e300, '7', null, true, [7]].map((rate): [string, unknown] => [
      'rate',
      { url, rate },
    ]),
    ['secret', { url, secret: 'whsec_x' }],
    ['id', { url, id: 'wh_x' }],
    ['enabled', { url, enabled: true }],
  ];
  for (const [member, body] of wrong) {
    failed(await strict.request('POST', '/webhooks', { body }), 40002, new RegExp(`"${member}"`));
  }
  for (const rate of ['9223372036854775807', '9223372036854775808', '1e400', '-0', '0.5']) {
    failed(
      await strict.request('POST', '/webhooks', { body: `{"url":"${url}","rate":${rate}}` }),
      40002,
      /"rate"/,
    );
  }
  for (const body of ['[]', 'null', '7', '"x"']) {
    failed(await strict.request('POST', '/webhooks', { body }), 40002, /must be a JSON object/);
  }
  for (const body of [undefined, '']) {
    failed(await strict.request('POST', '/webhooks', { body }), 40001, /empty/);
  }
  failed(await strict.request('POST', '/webhooks', { body: '{"url":' }), 40001);
  failed(await strict.request('GET', '/webhooks?limit=1'), 40003);
  failed(await strict.request('POST', '/webhooks?x=1', { body: { url } }), 40003);
});

test('a rate may be written as any JSON number whose value is an integer', async () => {
  const token = await service.tokenFor('rated');
  for (const rate of ['7', '7.0', '70e-1']) {
    const body = `{"url":"http://127.0.0.1:9/","rate":${rate}}`;
    const made = succeeded(await service.request('POST', '/webhooks', { body, token }), 201);
    assert.ok(typeof made === 'object' && made !== null && 'rate' in made);
    assert.equal(made.rate, 7);
  }
});

test('a user has at most a hundred webhooks, even if they are created concurrently', async () => {
  const token = await service.tokenFor('hoarder');
  const make = () => service.request('POST', '/webhooks', { body: { url: 'http://127.0.0.1:9/' }, token });
  const answers = await Promise.all(Array.from({ length: 110 }, make));
  assert.equal(answers.filter(({ status }) => status === 201).length, 100);
  for (const answer of answers) if (answer.status !== 201) failed(answer, 40902, /100 webhooks/);
  const [first] = await list(token);
  succeeded(await remove(first?.id ?? '', token), 204);
  succeeded(await make(), 201);
  failed(await make(), 40902);
  // Each user has their own limit.
  await createWebhook({ url: 'http://127.0.0.1:9/' }, service.token);
});
