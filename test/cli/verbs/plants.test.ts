import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { PROGRAM } from '../../../testkit/processes/executable.ts';
import { run, withFolder } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { type Reply, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { startCuttingProxy } from '../../../testkit/service/cutting-proxy.ts';
import { noTerminal, onTerminal } from '../on-terminal.ts';
import { watch } from '../watch.ts';
import { share, stock } from './stock.ts';

const MOST = '9223372036854775807';

test('a plant is created, listed and deleted, with all digits of its id', async (t) => {
  const { verb } = await startRemote(t);
  const created = await verb('plant', 'create', 'Bur oak', '--tag', 'Quercus', '--id', MOST);
  assert.deepEqual(created, {
    code: 0,
    signal: null,
    stdout: `${MOST}\n`,
    stderr: 'Created the plant "Bur oak".\n',
  });
  assert.equal((await verb('plant', 'create', 'Alder', '--id', '-5')).stdout, '-5\n');
  assert.equal((await verb('plant', 'create', 'Next')).stdout, '1\n');
  assert.deepEqual(
    dataOf(await verb('plant', 'list'))
      .trimEnd()
      .split('\n'),
    [
      'ID                   NAME     TAG      OWNER',
      '-5                   Alder             admin',
      '1                    Next              admin',
      `${MOST}  Bur oak  Quercus  admin`,
    ],
  );
  const deleted = await verb('plant', 'delete', MOST, '-5', '1');
  assert.deepEqual(deleted, { code: 0, signal: null, stdout: '', stderr: 'Deleted 3 of 3.\n' });
  const { stdout, stderr } = await verb('plant', 'list');
  assert.deepEqual([stdout, stderr], ['', 'No plants. To create one: plant-store plant create NAME\n']);
  assert.equal(dataOf(await verb('plant', 'list', '--json')), '[]\n');
});

test('plant list finds names by their beginning, and lists the highest ids first', async (t) => {
  const { verb } = await startRemote(t);
  for (const name of ['Beech', 'alder', 'ALDER', 'Äpfel']) await verb('plant', 'create', name);
  const ids = async (...flags: string[]) => dataOf(await verb('plant', 'list', '--ids', ...flags));
  assert.equal(await ids('--name', 'AL'), '2\n3\n');
  assert.equal(await ids('--name', 'äp'), '4\n');
  assert.equal(await ids('--order', 'desc'), '4\n3\n2\n1\n');
  assert.equal((await verb('plant', 'list', '--ids', '--order', 'desc', '--limit', '2')).stdout, '4\n3\n');
  assert.match(
    (await verb('plant', 'list', '--name', 'x')).stderr,
    /^No plants whose name starts with "x"\./,
  );
  const both = await verb('plant', 'list', '--name', 'a', '--order', 'desc');
  assert.equal(both.code, 2);
});

test('JSON tells an empty tag from none, and has all digits', async (t) => {
  const { verb } = await startRemote(t);
  const created = await verb('plant', 'create', 'Two\nlines', '--tag', '', '--id', MOST, '--json', '--quiet');
  assert.equal(dataOf(created), `{"id":${MOST},"name":"Two\\nlines","tag":""}\n`);
  await verb('plant', 'create', 'None', '--id', '1');
  assert.equal(
    dataOf(await verb('plant', 'list', '--json')),
    `[\n  {"id":1,"name":"None","owner":"admin"},\n  {"id":${MOST},"name":"Two\\nlines","tag":"","owner":"admin"}\n]\n`,
  );
});

test('with one key a plant is created once, and its id is printed again', async (t) => {
  const { verb } = await startRemote(t);
  const args = ['plant', 'create', 'Alder', '--key', 'order "7" \\'];
  assert.equal((await verb(...args)).stdout, '1\n');
  const again = await verb(...args);
  assert.deepEqual(again, {
    code: 0,
    signal: null,
    stdout: '1\n',
    stderr: 'Already created with the same key.\n',
  });
  assert.match(
    failureOf(await verb('plant', 'create', 'Other', '--key', 'order "7" \\')),
    /\(error 42200\)$/,
  );
});

test('a plant whose answer is cut off is created once, even without --key', async (t) => {
  const { env, service } = await startRemote(t);
  const proxy = await startCuttingProxy(
    t,
    service.url,
    (index) => (['cut after', 503] as const)[index] ?? 'pass',
  );
  const created = await run(['plant', 'create', 'Alder'], { ...env, PLANT_STORE_URL: proxy.url });
  assert.deepEqual([created.code, created.stdout, proxy.seen.length], [0, '1\n', 3]);
  assert.match(
    created.stderr,
    /the connection broke\. .* Retrying for 60 s\. To retry safely, repeat the command with --key cli-\S+\.\n/,
  );
  const list = await service.request('GET', '/plants');
  assert.equal(list.text, '[{"name":"Alder"}]');
});

test('one plant that cannot be deleted does not stop the others', async (t) => {
  const { verb, plant } = await startRemote(t);
  await plant('{"name":"One","id":1}');
  await plant('{"name":"Two","id":2}');
  const { code, stdout, stderr } = await verb('plant', 'delete', '1', '7', '2');
  assert.deepEqual([code, stdout], [1, '']);
  assert.equal(stderr, 'error: You have no plant with the id 7. (error 40401)\nDeleted 2 of 3.\n');
  assert.equal(dataOf(await verb('plant', 'list', '--json')), '[]\n');
});

test('a plant deleted by a request whose answer was lost counts as deleted', async (t) => {
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
  assert.equal(stderr, 'There are more: omit --limit to list all of them.\n');
});

test('a shared plant is listed with its owner, after the user’s own', async (t) => {
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

test('the pipeline in the help of delete deletes exactly the plants it selects', async (t) => {
  const { env, service, verb } = await startRemote(t);
  const bob = await service.tokenFor('bob');
  await service.request('POST', '/plants', { token: bob, body: '{"id":7,"name":"His","tag":"Acer"}' });
  await share(service, { owner: 'bob', viewer: 'admin' });
  await verb('plant', 'create', 'Meant', '--tag', 'Acer', '--id', '9007199254740993');
  await verb('plant', 'create', 'Also', '--tag', 'Acer', '--id', '-5');
  for (const id of ['9007199254740992', '7']) await verb('plant', 'create', 'Kept', '--id', id);
  const { stdout: help } = await run(['plant', 'delete', '--help']);
  const [, pipeline = ''] = /\$ (.* \| .*)/.exec(help) ?? [];
  assert.ok((await run(['plant', 'list', '--help'])).stdout.includes(pipeline));
  await withFolder(async (folder) => {
    await mkdir(join(folder, 'bin'));
    await symlink(PROGRAM, join(folder, 'bin', 'plant-store'));
    await symlink(process.execPath, join(folder, 'bin', 'node'));
    const shell = () =>
      promisify(execFile)('sh', ['-c', pipeline], {
        env: { ...env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
      });
    assert.deepEqual(await shell(), { stdout: '', stderr: 'Deleted 2 of 2.\n' });
    // Without matches, nothing runs.
    assert.deepEqual(await shell(), { stdout: '', stderr: '' });
  });
  assert.equal(dataOf(await verb('plant', 'list', '--ids')), '7\n9007199254740992\n');
});

test('list --tag shows plants with exactly this tag, and --limit counts only those', async (t) => {
  const { verb } = await startRemote(t);
  for (const tag of ['a', 'b', 'a', 'a', '']) await verb('plant', 'create', `Of ${tag}`, '--tag', tag);
  await verb('plant', 'create', 'Without');
  assert.equal(dataOf(await verb('plant', 'list', '--ids', '--tag', 'a', '--limit', '3')), '1\n3\n4\n');
  assert.equal(dataOf(await verb('plant', 'list', '--ids', '--tag', '')), '5\n');
  assert.deepEqual(await verb('plant', 'list', '--ids', '--tag', 'a', '--limit', '2'), {
    code: 0,
    signal: null,
    stdout: '1\n3\n',
    stderr: 'There are more: omit --limit to list all of them.\n',
  });
  assert.match(wordsOf(await verb('plant', 'list', '--tag', 'c')), /^No plants with the tag "c"\./);
});

test('a deletion that fails in the middle says what was deleted', async (t) => {
  const remote = await startRemote(t);
  await stock(remote, 3);
  const proxy = await startCuttingProxy(t, remote.service.url, (index, request) => {
    if (index > 0) request.headers.authorization = 'Bearer pst_revoked';
    return 'pass';
  });
  const env = { ...remote.env, PLANT_STORE_URL: proxy.url };
  const { code, stderr } = await run(['plant', 'delete', '1', '2', '3'], env);
  assert.equal(code, 1);
  assert.match(stderr, /^Deleted 1 of 3\.\nerror: .*\(error 40101\)/);
  assert.equal(dataOf(await remote.verb('plant', 'list', '--ids')), '2\n3\n');
});

test('a deletion interrupted while it waits says what was deleted', async (t) => {
  const remote = await startRemote(t);
  await stock(remote, 3);
  const proxy = await startCuttingProxy(t, remote.service.url, (index) => (index === 0 ? 'pass' : 503));
  const deleting = watch(['plant', 'delete', '1', '2', '3'], {
    ...remote.env,
    PLANT_STORE_URL: proxy.url,
  });
  await deleting.said(/Retrying for/);
  deleting.signal('SIGINT');
  const { code, stderr } = await deleting.ended;
  assert.equal(code, 130);
  assert.match(stderr, /\nDeleted 1 of 3\.\nerror: The service is overloaded\. \(error 50300\)\n$/);
});

test('a retry is announced without control characters, and only when there is one', async (t) => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  let waits = '1';
  const server = createServer((_, response) => {
    const overloaded = { error: 50300, message: 'a\u001b[31mb' };
    response.writeHead(503, { 'retry-after': waits }).end(JSON.stringify(overloaded));
    waits = '61';
    resolve();
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const env = { PLANT_STORE_URL: `http://127.0.0.1:${address.port}`, PLANT_STORE_TOKEN: 'x' };
  const retried = run(['plant', 'list'], env);
  await asked;
  const message = 'a\\u{1b}[31mb (error 50300)';
  assert.equal((await retried).stderr, `${message} Retrying for 60 s.\nerror: ${message}\n`);
  assert.equal(failureOf(await run(['plant', 'list'], env)), `error: ${message}`);
});

test('a failed create suggests its key only if an attempt may have created the plant', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const env = { PLANT_STORE_URL: receiver.url, PLANT_STORE_TOKEN: 'x' };
  const reply = (status: number, error: number, wait = '0') => ({
    status,
    headers: { 'retry-after': wait },
    body: JSON.stringify({ error, message: 'No.' }),
  });
  const lastLine = async (...replies: Reply[]) => {
    receiver.script(...replies);
    return (await run(['plant', 'create', 'Alder'], env)).stderr.trim().split('\n').at(-1) ?? '';
  };
  const key = / To retry safely, repeat the command with --key cli-\S+\.$/;
  assert.match(await lastLine(reply(503, 50301), reply(403, 40300)), key);
  assert.match(await lastLine(reply(503, 50301, '61')), key);
  assert.equal(await lastLine(reply(503, 50300, '61')), 'error: No. (error 50300)');
  assert.equal(await lastLine(reply(503, 50300), reply(403, 40300)), 'error: No. (error 40300)');
  assert.doesNotMatch(await lastLine({ status: 404, body: '<h1>Not here</h1>' }), key);
});

test('on a terminal JSON has control characters as escapes of the same data', async (t) => {
  const reason = noTerminal();
  if (reason !== undefined) return t.skip(reason);
  const { env, plant, verb } = await startRemote(t);
  const name = '\u009b31m\u202eÜ木\u{e0041}\u007f\\u{1b}';
  await plant(JSON.stringify({ name, tag: '\u0085' }));
  const piped = dataOf(await verb('plant', 'list', '--json'));
  assert.ok(piped.includes('\u009b'));
  for (const args of [
    ['plant', 'list', '--json'],
    ['plant', 'export', '--format', 'json', '-q'],
    ['plant', 'export', '--format', 'csv', '-q'],
  ]) {
    const shown = await onTerminal(args, { env, at: 'never', keys: '' });
    assert.match(shown, /Ü木/);
    assert.doesNotMatch(shown, /[\u0080-\u009f\u202e\u{e0041}\u007f]/u);
    if (!args.includes('csv')) assert.equal(JSON.parse(shown)[0].name, name);
  }
});

test('wrong usage of plant verbs exits with 2', async () => {
  for (const [args, says] of [
    [['create', 'x', '--id', '9223372036854775808'], /It must be a 64-bit signed integer/],
    [['create', 'x', '--id', '07'], /It must be a 64-bit signed integer/],
    [['create', 'x', '--key', ''], /A key has 1 to 255 printable ASCII characters/],
    [['delete', '07'], /An id is a 64-bit integer in canonical form/],
    [['delete'], /missing required argument 'id'/],
    [['list', '--limit', '0'], /an integer from 1 to 999999999/],
    [['list', '--ids', '--json'], /'--ids' cannot be used with option '--json'/],
  ] as const) {
    const { code, stdout, stderr } = await run(['plant', ...args]);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, says);
  }
});
