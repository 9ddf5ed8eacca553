import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { launch, outcomeOf, run, withFolder } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, type Remote, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { startCuttingProxy } from '../../../testkit/service/cutting-proxy.ts';
import { watch } from '../watch.ts';
import { share, stock } from './stock.ts';

const plants: readonly { id: string; name: string; tag?: string }[] = [
  { id: '-9223372036854775808', name: '=1+1' },
  { id: '-5', name: 'a "quoted", name', tag: 'two\nlines' },
  { id: '7', name: ' blanks ', tag: '' },
  { id: '9007199254740993', name: 'ünïcode 🌱', tag: 'crlf\r\n' },
  { id: '9223372036854775807', name: '\ufeff#', tag: "'" },
];

async function startWithPlants(...args: Parameters<typeof startRemote>): Promise<Remote> {
  const remote = await startRemote(...args);
  for (const { id, ...rest } of plants) {
    await remote.plant(JSON.stringify(rest).replace('{', `{"id":${id},`));
  }
  return remote;
}

/** The plants in a JSON text, ids as text. */
function readJsonPlants(text: string): unknown {
  return JSON.parse(text.replaceAll(/"id":(-?\d+)/g, '"id":"$1"'));
}

test('every format holds every character of every plant', async (t) => {
  const { verb } = await startWithPlants(t);
  await withFolder(async (folder) => {
    const read = (name: string) => readFile(join(folder, name), 'utf8');
    const csv = wordsOf(await verb('plant', 'export', join(folder, 'p.csv')));
    assert.equal(
      csv,
      `Exported 5 plants of "admin" to ${join(folder, 'p.csv')}.\n` +
        'Empty tags, which CSV cannot tell from none: 1. --format ndjson preserves them.\n',
    );
    assert.deepEqual(
      parse(await read('p.csv'), { columns: true }),
      plants.map(({ id, name, tag = '' }) => ({ id, name, tag })),
    );
    for (const name of ['p.ndjson', 'p.json']) {
      const said = wordsOf(await verb('plant', 'export', join(folder, name)));
      assert.equal(said, `Exported 5 plants of "admin" to ${join(folder, name)}.\n`);
    }
    assert.deepEqual(readJsonPlants(await read('p.json')), plants);
    assert.deepEqual((await read('p.ndjson')).trimEnd().split('\n').map(readJsonPlants), plants);
    assert.deepEqual((await readdir(folder)).sort(), ['p.csv', 'p.json', 'p.ndjson']);
  });
});

test('standard output gets the same, as CSV unless --format says otherwise', async (t) => {
  const { verb } = await startRemote(t);
  assert.equal(dataOf(await verb('plant', 'export', '--quiet')), 'id,name,tag\n');
  assert.equal(dataOf(await verb('plant', 'export', '-', '-q', '--format', 'json')), '[\n]\n');
  assert.equal(dataOf(await verb('plant', 'export', '-q', '--format', 'ndjson')), '');
  await verb('plant', 'create', 'Alder', '--tag', 'Alnus');
  const { stdout, stderr } = await verb('plant', 'export');
  assert.deepEqual([stdout, stderr], ['id,name,tag\n1,Alder,Alnus\n', 'Exported 1 plant of "admin".\n']);
});

test('an export can be imported unchanged', async (t) => {
  const { verb, env, service } = await startWithPlants(t);
  const bob = { ...env, PLANT_STORE_TOKEN: await service.tokenFor('bob') };
  await withFolder(async (folder) => {
    const file = join(folder, 'p.ndjson');
    await verb('plant', 'export', file);
    const imported = await run(['plant', 'import', file], bob);
    assert.equal(imported.code, 0, imported.stderr);
    const again = await run(['plant', 'export', '--format', 'ndjson', '-q'], bob);
    assert.equal(dataOf(again), await readFile(file, 'utf8'));
  });
});

test('plants of others are omitted unless requested', async (t) => {
  const { verb, plant, service } = await startRemote(t);
  const bob = await service.tokenFor('bob');
  await service.request('POST', '/plants', { token: bob, body: '{"name":"His"}' });
  await share(service, { owner: 'bob', viewer: 'admin' });
  await plant('{"name":"Mine"}');
  const own = await verb('plant', 'export');
  assert.equal(own.stdout, 'id,name,tag\n1,Mine,\n');
  assert.match(own.stderr, /^Exported 1 plant of "admin"\.\nOthers share plants with you: --shared/);
  assert.equal(
    (await verb('plant', 'export', '--shared')).stdout,
    'id,name,tag,owner\n1,Mine,,admin\n1,His,,bob\n',
  );
  assert.equal((await verb('plant', 'export', '--owner', 'bob')).stdout, 'id,name,tag\n1,His,\n');
  assert.match(
    failureOf(await verb('plant', 'export', '--owner', 'ann')),
    /You may not read any plants of "ann"\.$/,
  );
  await verb('plant', 'delete', '1');
  const none = await verb('plant', 'export', '--owner', 'admin', '-q');
  assert.deepEqual([none.code, none.stdout], [0, 'id,name,tag\n']);
});

test('a user without plants exports none, although others share theirs', async (t) => {
  const { env, service, plant } = await startRemote(t);
  await plant('{"name":"Of admin"}');
  const bob = { ...env, PLANT_STORE_TOKEN: await service.tokenFor('bob') };
  await share(service, { owner: 'admin', viewer: 'bob' });
  const { stdout, stderr } = await run(['plant', 'export'], bob);
  assert.equal(stdout, 'id,name,tag\n');
  assert.match(stderr, /^Exported 0 plants of "bob"\.\nOthers share plants with you/);
});

test('an export whose connections break has every plant once', async (t) => {
  const remote = await startRemote(t);
  await stock(remote, 2_500);
  const proxy = await startCuttingProxy(t, remote.service.url, (index) => {
    if (index < 2) return 'pass';
    return (['cut after', 'cut before', 503, 'pass'] as const)[index % 4] ?? 'pass';
  });
  const env = { ...remote.env, PLANT_STORE_URL: proxy.url };
  const { code, stdout } = await run(['plant', 'export', '--format', 'ndjson', '-q'], env);
  assert.equal(code, 0);
  assert.deepEqual(
    [...stdout.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id)),
    Array.from({ length: 2_500 }, (_, index) => index + 1),
  );
  assert.ok(proxy.seen.length > 3, proxy.seen.join('\n'));
});

test('an export that fails or is stopped leaves the file unchanged, and no other files', async (t) => {
  const remote = await startRemote(t);
  await stock(remote, 1_100);
  let fate: 'revoke' | 'hang' = 'revoke';
  let hanging = Promise.withResolvers<void>();
  const proxy = await startCuttingProxy(t, remote.service.url, (_, request) => {
    if (!request.path.includes('cursor')) return 'pass';
    if (fate === 'hang') hanging.resolve();
    else request.headers.authorization = 'Bearer pst_revoked';
    return fate === 'hang' ? 'hang' : 'pass';
  });
  const env = { ...remote.env, PLANT_STORE_URL: proxy.url };
  await withFolder(async (folder) => {
    const file = join(folder, 'p.csv');
    await writeFile(file, 'before');
    assert.match(
      failureOf(await run(['plant', 'export', file], env)),
      /p\.csv already exists\. Choose another file, or replace it with --force\.$/,
    );
    const force = ['plant', 'export', file, '--force'];
    assert.match(failureOf(await run(force, env)), /\(error 40101\)/);
    fate = 'hang';
    for (const [signal, code, ...more] of [
      ['SIGINT', 130],
      ['SIGHUP', 129],
      // Stopped among the user's own plants.
      ['SIGINT', 130, '--owner', 'bob'],
    ] as const) {
      hanging = Promise.withResolvers();
      const child = launch([...force, ...more], env);
      const ended = outcomeOf(child);
      await hanging.promise;
      child.kill(signal);
      const outcome = await ended;
      assert.equal(outcome.code, code);
      assert.match(outcome.stderr, /^error: The export was stopped\. .*p\.csv is unchanged\.\n$/);
      assert.deepEqual([await readdir(folder), await readFile(file, 'utf8')], [['p.csv'], 'before']);
    }
  });
});

test('an export that is complete when it is stopped says so', async (t) => {
  const { env } = await startWithPlants(t);
  const stopped = `import { open } from 'node:fs/promises';
    await using file = await open('/dev/null');
    Object.getPrototypeOf(file).sync = async () => {
      let isStopped = false;
      process.once('SIGINT', () => { isStopped = true; }).kill(process.pid, 'SIGINT');
      while (!isStopped) await new Promise(setImmediate);
    };`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(stopped)}`;
  await withFolder(async (folder) => {
    const file = join(folder, 'p.csv');
    const { code, stderr } = await outcomeOf(launch(['plant', 'export', file], { ...env, NODE_OPTIONS }));
    assert.equal(code, 130);
    assert.match(stderr, /^Exported 5 plants of "admin" to .*p\.csv\.\n/);
    assert.deepEqual(await readdir(folder), ['p.csv']);
  });
});

test('Ctrl+C stops an export that waits to retry, before and after the service knows its user', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const env = { PLANT_STORE_URL: receiver.url, PLANT_STORE_TOKEN: 'x' };
  const overloaded = JSON.stringify({ error: 50300, message: 'The service is overloaded.' });
  receiver.usually({ status: 503, headers: { 'retry-after': '50' }, body: overloaded });
  await withFolder(async (folder) => {
    const file = join(folder, 'p.csv');
    const stopped = async () => {
      const exporting = watch(['plant', 'export', file], env);
      t.after(() => exporting.signal('SIGKILL'));
      await exporting.said(/Retrying for 60 s\./);
      exporting.signal('SIGINT');
      return exporting.ended;
    };
    const started = Date.now();
    assert.equal((await stopped()).signal, 'SIGINT');
    receiver.script({ status: 200, body: '{"user":"ann","scopes":[]}' });
    const { code, stderr } = await stopped();
    assert.equal(code, 130);
    assert.match(stderr, /\nerror: The export was stopped\. .*p\.csv is unchanged\.\n$/);
    assert.ok(Date.now() - started < 50_000, 'it waited for the retry');
    assert.deepEqual(await readdir(folder), []);
  });
});

test('an unwritable file, or a name without a format, is reported', async (t) => {
  const { verb } = await startRemote(t);
  const { code, stderr } = await verb('plant', 'export', 'plants.txt');
  assert.deepEqual(
    [code, stderr],
    [2, 'error: The name of plants.txt does not tell the format. Pass --format csv, ndjson or json.\n'],
  );
  assert.equal(
    failureOf(await verb('plant', 'export', '/nowhere/plants.csv')),
    'error: /nowhere/plants.csv cannot be written: its folder does not exist. Choose another place.',
  );
});

test('a file may have the longest name that there is', async (t) => {
  const { verb } = await startWithPlants(t);
  await withFolder(async (folder) => {
    const name = `${'ü'.repeat(125)}.json`;
    wordsOf(await verb('plant', 'export', join(folder, name)));
    assert.deepEqual(await readdir(folder), [name]);
  });
});

test('a link stays a link, a private file private, and a pipe a pipe', async (t) => {
  const { verb } = await startWithPlants(t);
  await withFolder(async (folder) => {
    const at = (name: string) => join(folder, name);
    await symlink('real.csv', at('link.csv'));
    await writeFile(at('real.csv'), 'before', { mode: 0o600 });
    wordsOf(await verb('plant', 'export', at('link.csv'), '--force'));
    assert.equal(await readlink(at('link.csv')), 'real.csv');
    assert.match(await readFile(at('real.csv'), 'utf8'), /^id,name,tag\n/);
    assert.equal((await stat(at('real.csv'))).mode & 0o777, 0o600);

    execFileSync('mkfifo', [at('pipe')]);
    const [piped, exported] = await Promise.all([
      readFile(at('pipe'), 'utf8'),
      verb('plant', 'export', at('pipe'), '--format', 'csv'),
    ]);
    assert.equal(exported.code, 0, exported.stderr);
    assert.equal(piped, await readFile(at('real.csv'), 'utf8'));
    assert.ok((await stat(at('pipe'))).isFIFO());
  });
});

test('/dev/stdout, an open descriptor and a broken link are written to, not replaced', async (t) => {
  const { env, plant } = await startRemote(t);
  await plant('{"name":"Alder"}');
  const whole = 'id,name,tag\n1,Alder,\n';
  await withFolder(async (folder) => {
    const at = (name: string) => join(folder, name);
    const through = (script: string) =>
      outcomeOf(launch(['plant', 'export', '--format', 'csv', '-q'], env, ['sh', '-c', script, folder]));
    const read = (name: string) => readFile(at(name), 'utf8');

    assert.equal(dataOf(await through('"$@" /dev/stdout | cat')), whole);
    dataOf(await through('{ echo before; "$@" /dev/stdout; echo after; } > "$0/out"'));
    assert.equal(await read('out'), `before\n${whole}after\n`);
    dataOf(await through('echo before > "$0/fd"; "$@" /dev/fd/3 3>> "$0/fd"'));
    assert.equal(await read('fd'), `before\n${whole}`);
    assert.equal(dataOf(await through('"$@" /dev/fd/3 3>&1 | cat')), whole);

    await symlink('new.csv', at('link.csv'));
    dataOf(await run(['plant', 'export', at('link.csv'), '-q'], env));
    assert.deepEqual([await readlink(at('link.csv')), await read('new.csv')], ['new.csv', whole]);
    await symlink('loop.csv', at('loop.csv'));
    assert.match(failureOf(await run(['plant', 'export', at('loop.csv')], env)), /cannot be written/);
    assert.deepEqual((await readdir(folder)).sort(), ['fd', 'link.csv', 'loop.csv', 'new.csv', 'out']);
  });
});

test('an export whose reader left does not claim success', async (t) => {
  const { env, plant } = await startRemote(t);
  await plant('{"name":"Alder"}');
  const exporting = watch(['plant', 'export'], env);
  exporting.turnAway();
  const { code, stderr } = await exporting.ended;
  assert.deepEqual([code, stderr], [0, '']);
});
