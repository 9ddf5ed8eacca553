import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCuttingProxy } from './cutting-proxy.ts';
import { run } from './program.ts';
import { dataOf, failureOf, startRemote } from './remote.ts';
import { share, stock } from './stock.ts';

const MOST = '9223372036854775807';
const BEFORE = '9223372036854775806';

test('a plant is created, listed and deleted, its id exact to the last digit', async (t) => {
  const { verb } = await startRemote(t);
  const created = await verb('plant', 'create', 'Bur oak', '--tag', 'Quercus', '--id', MOST);
  assert.deepEqual(created, {
    code: 0,
    signal: null,
    stdout: `${MOST}\n`,
    stderr: 'Created the plant "Bur oak".\n',
  });
  assert.equal((await verb('plant', 'create', 'Alder', '--id', '-5')).stdout, '-5\n');
  assert.equal((await verb('plant', 'create', 'Next')).stdout, `${BEFORE}\n`);
  assert.deepEqual(
    dataOf(await verb('plant', 'list'))
      .trimEnd()
      .split('\n'),
    [
      'ID                   NAME     TAG      OWNER',
      '-5                   Alder             admin',
      `${BEFORE}  Next              admin`,
      `${MOST}  Bur oak  Quercus  admin`,
    ],
  );
  const deleted = await verb('plant', 'delete', MOST, '-5', BEFORE);
  assert.deepEqual(deleted, { code: 0, signal: null, stdout: '', stderr: 'Deleted: 3 of 3.\n' });
  const { stdout, stderr } = await verb('plant', 'list');
  assert.deepEqual(
    [stdout, stderr],
    ['', 'There are no plants. To make one: plant-store plant create NAME\n'],
  );
  assert.equal(dataOf(await verb('plant', 'list', '--json')), '[]\n');
});

test('JSON tells an empty tag from none, and holds every digit', async (t) => {
  const { verb } = await startRemote(t);
  const created = await verb('plant', 'create', 'Two\nlines', '--tag', '', '--id', MOST, '--json', '--quiet');
  assert.equal(dataOf(created), `{"id":${MOST},"name":"Two\\nlines","tag":""}\n`);
  await verb('plant', 'create', 'None', '--id', '1');
  assert.equal(
    dataOf(await verb('plant', 'list', '--json')),
    `[\n  {"id":1,"name":"None","owner":"admin"},\n  {"id":${MOST},"name":"Two\\nlines","tag":"","owner":"admin"}\n]\n`,
  );
});

test('with one key a plant is created once, and the id is shown again', async (t) => {
  const { verb } = await startRemote(t);
  const args = ['plant', 'create', 'Alder', '--key', 'order "7" \\'];
  assert.equal((await verb(...args)).stdout, '1\n');
  const again = await verb(...args);
  assert.deepEqual(again, {
    code: 0,
    signal: null,
    stdout: '1\n',
    stderr: 'It was created before, with the same key.\n',
  });
  assert.match(
    failureOf(await verb('plant', 'create', 'Other', '--key', 'order "7" \\')),
    /\(error 42200\)$/,
  );
});

test('a plant whose answer is cut off is created once, without a key of the user', async (t) => {
  const { env, service } = await startRemote(t);
  const proxy = await startCuttingProxy(
    t,
    service.url,
    (index) => (['cut after', 503] as const)[index] ?? 'pass',
  );
  const created = await run(['plant', 'create', 'Alder'], { ...env, PLANT_STORE_URL: proxy.url });
  assert.deepEqual([created.code, created.stdout, proxy.seen.length], [0, '1\n', 3]);
  assert.match(created.stderr, /the connection broke off\. .* It is tried again for 60 s\.\n/);
  const list = await service.request('GET', '/plants');
  assert.equal(list.text, '[{"name":"Alder"}]');
});

test('one plant that cannot be deleted does not keep the others', async (t) => {
  const { verb, plant } = await startRemote(t);
  await plant('{"name":"One","id":1}');
  await plant('{"name":"Two","id":2}');
  const { code, stdout, stderr } = await verb('plant', 'delete', '1', '7', '2');
  assert.deepEqual([code, stdout], [1, '']);
  assert.equal(stderr, 'error: You have no plant with the id 7. (error 40401)\nDeleted: 2 of 3.\n');
  assert.equal(dataOf(await verb('plant', 'list', '--json')), '[]\n');
});

test('a plant that was deleted by a request without an answer counts as deleted', async (t) => {
  const { env, service, plant } = await startRemote(t);
  await plant('{"name":"One","id":1}');
  const proxy = await startCuttingProxy(t, service.url, (index) => (index === 0 ? 'cut after' : 'pass'));
  const deleted = await run(['plant', 'delete', '1', '--quiet'], { ...env, PLANT_STORE_URL: proxy.url });
  assert.deepEqual(deleted, { code: 0, signal: null, stdout: '', stderr: '' });
});

test('a list of many pages has every plant once, in order, and --limit ends it', async (t) => {
  const remote = await startRemote(t);
  const ids = await stock(remote, 2_100);
  const listed = dataOf(await remote.verb('plant', 'list', '--json'));
  assert.deepEqual(
    [...listed.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id)),
    ids,
  );
  const { stdout, stderr } = await remote.verb('plant', 'list', '--limit', '1001');
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 1_002);
  assert.deepEqual([lines[0]?.slice(0, 9), lines.at(-1)?.slice(0, 16)], ['ID    NAM', '1001  Plant 1001']);
  assert.equal(stderr, 'There are more: without --limit all of them are shown.\n');
});

test('a shared plant is listed with its owner behind those of the user', async (t) => {
  const { service, verb, plant } = await startRemote(t);
  await plant('{"name":"Mine"}');
  const bob = await service.tokenFor('bob');
  await service.request('POST', '/plants', { token: bob, body: '{"name":"His","tag":"B"}' });
  await share(service, { owner: 'bob', viewer: 'admin' });
  assert.equal(
    dataOf(await verb('plant', 'list')),
    'ID  NAME  TAG  OWNER\n1   Mine       admin\n1   His   B    bob\n',
  );
});

test('what is wrong with the usage of plant verbs ends with 2', async () => {
  for (const [args, says] of [
    [['create', 'x', '--id', '9223372036854775808'], /It must be a 64-bit signed integer/],
    [['create', 'x', '--id', '07'], /It must be a 64-bit signed integer/],
    [['create', 'x', '--key', ''], /A key has 1 to 255 printable ASCII characters/],
    [['delete', '07'], /An id is a 64-bit integer in canonical form/],
    [['delete'], /missing required argument 'id'/],
    [['list', '--limit', '0'], /an integer from 1 to 999999999/],
  ] as const) {
    const { code, stdout, stderr } = await run(['plant', ...args]);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, says);
  }
});
