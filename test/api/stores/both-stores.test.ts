import { after, before, test } from 'node:test';
import { NOWHERE } from '../../../testkit/service/webhook-client.ts';
import { LONG, placeholder, plant, startTwins, type Twins } from './twins.ts';

/** Every operation, with valid, wrong and hostile requests: both stores answer the same, byte for byte. */

let twins: Twins;
before(async () => {
  twins = await startTwins();
});
after(() => twins.stop());

const CONTROLS = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).join('');

const TEXTS = [
  ...Array.from(`${CONTROLS}\u007f\u0080\u009f`),
  '"',
  "'",
  "''; DROP TABLE plants; --",
  '\\',
  '\\\\"',
  '\\u0041',
  '\\N',
  '$1',
  '%s %',
  '{}',
  '{"a":1}',
  '\u2028\u2029',
  '\ufeffbom',
  '\ufffd\uffff\ufdd0',
  'é e\u0301',
  '\u{1F331}\u{10ffff}',
  '\u{1F468}\u200d\u{1F469}\u200d\u{1F467}',
  '\u202eright to left',
  'ß ſ İ ı Å \u212b',
  ' leading and trailing ',
  'null',
  'true',
  LONG,
  '\u{1F331}'.repeat(255),
  '\\'.repeat(255),
  '\u0001'.repeat(255),
];

test('names and tags of every kind', async () => {
  const ann = await twins.user('ann of texts');
  for (const text of TEXTS) {
    await twins.ask(ann, plant({ name: `${text.slice(0, 200)}a`, tag: text }));
    await twins.ask(ann, plant({ name: text }));
    await twins.ask(ann, plant({ tag: text }));
  }
  for (const text of [
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '""',
    '" "',
    '"\\u00a0\\u3000"',
    '"\\u0085\\u2028"',
  ]) {
    await twins.ask(ann, { line: 'POST /plants', body: `{"name":${text}}` });
    await twins.ask(ann, { line: 'POST /plants', body: `{"name":"Alder","tag":${text}}` });
  }
  await twins.ask(ann, { line: 'POST /plants', body: Buffer.from('{"name":"\xff"}', 'latin1') });
  await twins.ask(ann, plant({ name: `${LONG}x` }));
  await twins.ask(ann, plant({ name: 'Alder', tag: `${LONG}x` }));
  await twins.ask(ann, { line: 'GET /plants' });
  await twins.pages(ann, '/plants?limit=7');
  await twins.pages(ann, '/plants?limit=5&fields=id,name,tag,owner');
  await twins.ask(ann, { line: 'GET /events?limit=1000' });
});

const IDS = [
  '0',
  '-0',
  '-1',
  '1',
  '7.0',
  '8e0',
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775807',
  '9223372036854775806',
  '-9223372036854775808',
  '2147483648',
  '-2147483649',
  '90e-1',
];
const WRONG_IDS = [
  '9223372036854775808',
  '-9223372036854775809',
  '1e19',
  '1.5',
  '"7"',
  'null',
  '1e400',
  '{}',
  'NaN',
];

test('ids at both ends of 64 bits, taken ones, and the next free one', async () => {
  const ann = await twins.user('ann of ids');
  for (const id of ['1', '1', ...IDS, ...IDS, ...WRONG_IDS]) {
    await twins.ask(ann, { line: 'POST /plants', body: `{"id":${id},"name":"Alder"}` });
    await twins.ask(ann, plant({ name: 'Birch' }));
  }
  for (const fields of FIELDS) await twins.ask(ann, { line: `GET /plants?fields=${fields}` });
  await twins.pages(ann, '/plants?limit=1&fields=id');
  await twins.ask(ann, { line: 'HEAD /plants' });
  for (const path of PATHS) {
    await twins.ask(ann, { line: `DELETE /plants/${path}` });
    await twins.ask(ann, { line: `DELETE /plants/${path}` });
  }
  await twins.ask(ann, { line: 'GET /plants?fields=id' });
  // Whether the greatest id is free must not affect the next id of either store.
  for (let count = 0; count < 3; count++) await twins.ask(ann, plant({ name: 'Cedar' }));
});

/** Every order of every subset. */
const FIELDS = permutations(['id', 'name', 'tag', 'owner']);

function permutations(names: readonly string[]): string[] {
  return names.flatMap((name) => [
    name,
    ...permutations(names.filter((other) => other !== name)).map((rest) => `${name},${rest}`),
  ]);
}

const PATHS = [
  '1',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '-9223372036854775809',
  '%31',
  '%2D1',
  '07',
  '+7',
  '7.0',
  '-0',
  '0',
  'x',
  '%00',
  '1%00',
  '%ff',
  '%zz',
  '%F0%9F%8C%B1',
  '%27%20OR%201=1',
  '1;DROP',
  '..',
  '%2e%2e',
  '9'.repeat(1_000),
  '9'.repeat(30_000),
];

test('lists with wrong queries', async () => {
  const ann = await twins.user('ann of lists');
  for (let id = -3; id <= 3; id++) await twins.ask(ann, plant({ id, name: `Plant ${id}`, tag: `${id}` }));
  const first = await twins.ask(ann, { line: 'GET /plants?limit=3' });
  for (const query of QUERIES) await twins.ask(ann, { line: `GET /plants?${query}` });
  await twins.ask(ann, { line: 'DELETE /plants/0' });
  await twins.pages(ann, `/plants?limit=3&cursor=${placeholder('cursor', first)}`);
});

const QUERIES = [
  'limit=0',
  'limit=-1',
  'limit=2147483647',
  'limit=2147483648',
  'limit=1.0',
  'limit=',
  'limit=1&limit=2',
  'limit=%00',
  'fields=',
  'fields=id,id',
  'fields=id,',
  'fields=Id',
  'fields=created_at',
  'fields=id;name',
  'cursor=',
  'cursor=x',
  'cursor=1.1.1',
  'cursor=%00',
  `cursor=${'9'.repeat(64)}.1`,
  `cursor=${'9'.repeat(2_000)}`,
  'token=x',
  'a=b',
  'limit=1%27%20OR%20%271%27=%271',
  '%',
];

test('shares with owners whose names differ only in byte order', async () => {
  const viewer = await twins.user('a viewer of all');
  const names = [
    'Zoë',
    'zoe',
    'Ångström',
    '\ufb01n',
    '\uff21',
    '\u{1F331}',
    '\u{10ffff}',
    '\ue000',
    "o'Neil",
    'a"b\\c',
    'a b',
    'a-b',
    'ab',
  ];
  const owners = await Promise.all(names.map((name) => twins.user(name)));
  for (const owner of owners) {
    for (const id of [2, 1, -1]) await twins.ask(owner, plant({ id, name: `${id} of ${owner.name}` }));
    await twins.share(owner, viewer);
  }
  await twins.ask(viewer, plant({ id: 1, name: 'of the viewer' }));
  await twins.askUntil(viewer, { line: 'GET /plants?fields=owner' }, /\u{10ffff}"\}\]$/u);
  for (const limit of [1, 2, 5, 100])
    await twins.pages(viewer, `/plants?limit=${limit}&fields=owner,id,name`);
  await twins.ask(viewer, { line: 'DELETE /plants/2' });
  await twins.ask(viewer, { line: 'GET /events?limit=1000' });
});

test('keys: a repetition, another request, keys of every form', async () => {
  const ann = await twins.user('ann of keys');
  const bob = await twins.user('bob of keys');
  for (const key of KEYS) {
    const keyed = (body: string) => ({ line: 'POST /plants', fields: [`Idempotency-Key: ${key}`], body });
    await twins.ask(ann, keyed('{"name":"Alder \\u2028 \\"x\\""}'));
    await twins.ask(ann, keyed('{"name":"Alder \\u2028 \\"x\\""}'));
    await twins.ask(bob, keyed('{"name":"Alder \\u2028 \\"x\\""}'));
    await twins.ask(ann, keyed('{"name":"Birch"}'));
    await twins.ask(ann, keyed('{'));
  }
  for (const [key, body] of Object.entries({ taken: '{"name":"Alder","id":1}', wrong: '{"name":1}' })) {
    for (let times = 0; times < 2; times++) {
      await twins.ask(ann, { line: 'POST /plants', fields: [`Idempotency-Key: "${key}"`], body });
    }
  }
  const hook = {
    line: 'POST /webhooks',
    fields: ['Idempotency-Key: "hook"'],
    body: JSON.stringify({ url: NOWHERE }),
  };
  await twins.ask(ann, hook);
  await twins.ask(ann, hook);
  await twins.ask(ann, { line: 'GET /plants?fields=id,name' });
});

const KEYS = [
  '"a"',
  'a',
  '"a b"',
  '"\\"\\\\"',
  "it's",
  `"${LONG}"`,
  LONG,
  `"${LONG}x"`,
  '""',
  '',
  '"\u00fc"',
  '"a',
  'a b',
  '"a";b=1',
  '"a", "b"',
];

test('unknown operations, and missing permissions', async () => {
  const ann = await twins.user('ann of paths');
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const path of [
      '/',
      '/plants',
      '/plants/1',
      '/plants/',
      '/webhooks',
      '/webhooks/x/y',
      '/events',
      '/activity?hours=1',
      '/me',
      '/nothing',
    ]) {
      await twins.ask(ann, { line: `${method} ${path}` });
      await twins.ask(undefined, { line: `${method} ${path}` });
    }
  }
  for (const path of ['/openapi.json', '/healthz', '/readyz', '/docs']) {
    await twins.ask(undefined, { line: `GET ${path}` });
  }
});
