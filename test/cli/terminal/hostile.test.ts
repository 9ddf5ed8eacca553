import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { shellWord } from '../../../src/cli/terminal/terminal.ts';
import { storePath } from '../../../src/config/config.ts';
import { lockForServing } from '../../../src/store/sqlite/files/lock.ts';
import { run, withFolder, withStoreFolder } from '../../../testkit/processes/program.ts';
import { noTerminal, onTerminal, shownBy, shownOnTerminal, shownWithInput } from '../on-terminal.ts';
import { HOSTILE, HOSTILITIES, startHostileServer } from './hostile-server.ts';

const skip = noTerminal() ?? false;

const WEBHOOK = 'wh_01k9f3zv7h8q2m5x4c6d0n1r8t';
const TOKEN = 'tok_01k0c3t2v4x5y6z7a8b9c0d1e2';
const EVENT = 'evt_01m7xzsn3sskhbnh27akn17wp9';

/** Every verb that talks to a service, and whether it prints JSON. */
const VERBS: readonly (readonly [verb: string, args: readonly string[], json?: 'json'])[] = [
  ['plant list', [], 'json'],
  ['plant create', ['Alder'], 'json'],
  ['plant delete', ['7']],
  ['plant import', ['plants.csv', '--again'], 'json'],
  ['plant export', ['--shared']],
  ['webhook create', ['http://x.example'], 'json'],
  ['webhook list', [], 'json'],
  ['webhook show', [WEBHOOK], 'json'],
  ['webhook test', [WEBHOOK, '--wait'], 'json'],
  ['webhook update', [WEBHOOK, '--description', 'x'], 'json'],
  ['webhook rotate', [WEBHOOK], 'json'],
  ['webhook enable', [WEBHOOK]],
  ['webhook disable', [WEBHOOK]],
  ['webhook replay', [WEBHOOK, '--since', '1h'], 'json'],
  ['webhook delete', [WEBHOOK, '--yes']],
  ['delivery list', [WEBHOOK], 'json'],
  ['delivery show', [WEBHOOK, EVENT], 'json'],
  ['delivery redeliver', [WEBHOOK, EVENT], 'json'],
  ['token create', ['--own']],
  ['token list', ['--own'], 'json'],
  ['token rotate', ['--own', TOKEN]],
  ['token revoke', ['--own', TOKEN]],
  ['event list', [], 'json'],
  ['event watch', [], 'json'],
  ['listen', [], 'json'],
  ['status', [], 'json'],
  ['whoami', [], 'json'],
  ['login', ['--token-stdin']],
];

const ESCAPE = '\u001b';
/** The program's own styles, and its sequences for replacing a progress line or a question. */
const OWN = new RegExp(`${ESCAPE}\\[(?:(?:1|2|22|31|32|33|39)m|\\d+G|2K|0J)`, 'g');
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/u;

/** The output without styles and with plain line ends. Fails when a terminal would obey anything in it. */
function harmless(shown: string): string {
  const lines = shown.replaceAll('\r\n', '\n').replaceAll(OWN, '').split('\n');
  for (const line of lines) {
    assert.doesNotMatch(line, OBEYED, JSON.stringify(line));
    assert.doesNotMatch(line, /^forged/, 'what a server sends forges a line');
  }
  return lines.join('\n');
}

/** The same data, without what differs in each run. */
function comparable(json: string): unknown {
  return JSON.parse(json, (key, value) => (/^(?:latencyMs|seconds)$/.test(key) ? undefined : value));
}

test('this test covers all verbs that talk to a service', () => {
  const folder = new URL('../../../docs/reference/cli/', import.meta.url);
  const pages = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const talking = pages
    .flatMap((page) => page.split(/^##? plant-store /m).slice(1))
    .filter((text) => text.includes('--url <url>'))
    .map((text) => text.split('\n', 1)[0]);
  assert.deepEqual(VERBS.map(([verb]) => verb).toSorted(), talking.toSorted());
});

test('nothing that a hostile service sends reaches a terminal raw', { skip, concurrency: 3 }, async (t) => {
  const server = await startHostileServer(t);
  await withFolder(async (folder) => {
    let runs = 0;
    /** A file for each import. */
    const plants = () => {
      const file = join(folder, `plants-${++runs}.csv`);
      writeFileSync(file, 'name\nAlder\n');
      return file;
    };
    const argsOf = (verb: string, args: readonly string[], ...more: string[]) => [
      ...verb.split(' '),
      ...args.map((arg) => (arg === 'plants.csv' ? plants() : arg)),
      ...more,
    ];
    const envOf = (hostility: string) => ({
      PLANT_STORE_URL: `${server}/${hostility}`,
      // The event stream ends when a token comes a second time.
      PLANT_STORE_TOKEN: `t${++runs}`,
      HOME: join(folder, String(runs)),
    });
    const show = (verb: string, args: readonly string[], hostility: string) =>
      verb === 'login'
        ? shownWithInput(args, envOf(hostility), 'token')
        : shownOnTerminal(args, envOf(hostility));

    const tests = VERBS.flatMap(([verb, args, json]) => {
      const cases = HOSTILITIES.map((hostility) =>
        t.test(`${verb}: ${hostility}`, async () => {
          const seen = harmless(await show(verb, argsOf(verb, args), hostility));
          assert.notEqual(seen.trim(), '');
          // The hostile data is in fields that the verb reads.
          if (hostility === 'fields')
            assert.doesNotMatch(seen, /^error: This version of plant-store does not/m);
          if (hostility === 'error' && verb !== 'plant import') assert.match(seen, /\\u\{1b\}\[35mcolour/);
        }),
      );
      if (json) {
        cases.push(
          t.test(`${verb} --json: the same data as in a pipe`, async () => {
            const seen = harmless(await show(verb, argsOf(verb, args, '--json', '--quiet'), 'fields'));
            const { stdout } = await run(argsOf(verb, args, '--json', '--quiet'), envOf('fields'));
            const [data = '', ...failures] = seen.split(/^error: /m);
            assert.deepEqual(comparable(data), comparable(stdout));
            assert.ok(failures.length < 2);
          }),
        );
      }
      return cases;
    });
    await Promise.all(tests);
  });
});

test('an export to a terminal has one plant per line, and JSON that is the same data', {
  skip,
}, async (t) => {
  const server = await startHostileServer(t);
  const env = { PLANT_STORE_URL: `${server}/fields`, PLANT_STORE_TOKEN: 'x' };
  const show = async (...args: string[]) =>
    harmless(await shownOnTerminal(['plant', ...args, '--quiet'], env)).trimEnd();
  const [, row = '', ...rest] = (await show('export', '--shared')).split('\n');
  assert.deepEqual([row.startsWith('7,"x\\u{1b}[35mcolour'), rest], [true, []]);
  for (const format of ['ndjson', 'json']) {
    const args = ['export', '--shared', '--format', format];
    const { stdout } = await run(['plant', ...args], env);
    assert.deepEqual(JSON.parse(await show(...args)), JSON.parse(stdout));
    assert.ok(stdout.includes('\u009b35m'), 'a pipe gets every character as it is');
  }
  assert.equal(await show('list', '--ids'), '7');
});

test('an event is one line of JSON in a pipe, with every character as it came', async (t) => {
  const server = await startHostileServer(t);
  const env = { PLANT_STORE_URL: `${server}/fields`, PLANT_STORE_TOKEN: 'x' };
  const { stdout } = await run(['listen', '--json'], env);
  const [line = '', ...rest] = stdout.split('\n');
  assert.deepEqual(rest, ['']);
  assert.equal(JSON.parse(line).plant.name, HOSTILE);
  assert.ok(line.includes('\u009b35m\u009d\u061c\u200e'), 'characters that JSON does not escape stay');
});

test('a JSON array has every text unchanged, including line separators', async (t) => {
  const server = await startHostileServer(t);
  const env = { PLANT_STORE_URL: `${server}/fields`, PLANT_STORE_TOKEN: 'x' };
  for (const args of [
    ['delivery', 'list', WEBHOOK],
    ['plant', 'list'],
  ]) {
    const { stdout } = await run([...args, '--json'], env);
    assert.ok(stdout.includes(JSON.stringify(HOSTILE)), args.join(' '));
  }
});

test('an event that is not JSON, or whose id does not fit a header, is not printed', async (t) => {
  const server = await startHostileServer(t);
  for (const hostility of ['notes', 'ids']) {
    for (const flags of [[], ['--json']]) {
      const env = { PLANT_STORE_URL: `${server}/${hostility}`, PLANT_STORE_TOKEN: hostility + flags };
      const { code, stdout, stderr } = await run(['listen', ...flags], env);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^Listening to .*\nerror: [^\n]*\n$/);
    }
  }
});

test('questions about a webhook, and profiles with hostile names, are harmless', {
  skip,
}, async (t) => {
  const server = await startHostileServer(t);
  await withFolder(async (home) => {
    const env = { PLANT_STORE_URL: `${server}/fields`, PLANT_STORE_TOKEN: 'x', HOME: home };
    const asked = await onTerminal(['webhook', 'delete', WEBHOOK], { env, at: '[y/N] ', keys: 'n\r' });
    const [shown = ''] = asked.split('Delete it?');
    assert.match(harmless(shown), /This deletes the webhook to x\\u\{1b\}/);
    await shownWithInput(['login', '--token-stdin', '--url', `${server}/fields`], { HOME: home }, 'token');
    assert.match(harmless(await shownOnTerminal(['login', '--list'], { HOME: home })), /\\u\{1b\}/);
    const json = harmless(await shownOnTerminal(['login', '--list', '--json'], { HOME: home }));
    assert.equal(JSON.parse(json)[0].user, HOSTILE);
  });
});

test("commands to paste quote the service's ids", async (t) => {
  const server = await startHostileServer(t);
  const env = { PLANT_STORE_URL: `${server}/fields`, PLANT_STORE_TOKEN: 'x' };
  for (const args of [['status'], ['webhook', 'create', 'http://x.example'], ['webhook', 'test', WEBHOOK]]) {
    const { stdout, stderr } = await run(args, env);
    assert.match(stdout + stderr, /plant-store (?:webhook enable|webhook test|delivery show \w+) 'x\\u/);
  }
});

test('an import shows and records refusals without control characters', {
  skip,
}, async (t) => {
  const server = await startHostileServer(t);
  await withFolder(async (folder) => {
    const file = join(folder, 'plants.csv');
    await writeFile(file, 'name\nAlder\n');
    const env = { PLANT_STORE_URL: `${server}/busy`, PLANT_STORE_TOKEN: 'x' };
    const busy = harmless(await shownOnTerminal(['plant', 'import', file, '--patience', '1s'], env));
    assert.match(busy, /35mcolour.* Retrying/);
    await shownOnTerminal(['plant', 'import', file], { ...env, PLANT_STORE_URL: `${server}/error` });
    const [, row = ''] = readFileSync(`${file}.errors.csv`, 'utf8').split('\n');
    assert.doesNotMatch(row, OBEYED);
    assert.match(row, /Alder,2,.*35mcolour/);
  });
});

test('verbs on the store show what others wrote there without control characters', {
  skip,
}, async () => {
  await withStoreFolder(async (folder) => {
    const env = { DATA_DIR: folder };
    await run(['user', 'create', 'ann'], env);
    await run(['user', 'create', 'bob'], env);
    await run(['token', 'create', '--user', 'ann'], env);
    await run(['share', 'add', '--owner', 'ann', '--viewer', 'bob'], env);
    const db = new DatabaseSync(storePath(folder));
    db.prepare(`UPDATE users SET name = ? WHERE name = 'ann'`).run(HOSTILE);
    db.prepare('UPDATE tokens SET label = ?').run(HOSTILE);
    db.close();
    for (const verb of ['user', 'token', 'share']) {
      assert.match(harmless(await shownOnTerminal([verb, 'list'], env)), /\\u\{1b\}/);
      const json = harmless(await shownOnTerminal([verb, 'list', '--json'], env));
      assert.deepEqual(JSON.parse(json), JSON.parse((await run([verb, 'list', '--json'], env)).stdout));
      assert.ok(json.includes('\\u009b35m\\u009d\\u061c\\u200e'));
    }
  });
});

test('doctor shows no raw control characters of a store, a server or a provider', { skip }, async (t) => {
  const server = await startHostileServer(t);
  const { port } = new URL(server);
  await withStoreFolder(async (folder) => {
    const lock = lockForServing(join(folder, 'serving.lock'));
    t.after(() => lock[Symbol.dispose]());
    for (const hostility of HOSTILITIES) {
      const env = {
        DATA_DIR: folder,
        PORT: port,
        PUBLIC_URL: `${server}/${hostility}`,
        JWT_ISSUER: `${server}/${hostility}`,
        JWT_AUDIENCE: 'x',
      };
      assert.match(harmless(await shownOnTerminal(['doctor'], env)), /Identity provider/);
      JSON.parse(harmless(await shownOnTerminal(['doctor', '--json'], env)));
    }
  });
});

test("a service's log on a terminal has no raw control characters, in either format", { skip }, async () => {
  const source = new URL('../../../src/cli/service/log.ts', import.meta.url).href;
  for (const format of ['pretty', 'json']) {
    const code = `
      const { createLog } = await import('${source}');
      const log = await createLog({ logLevel: 'info', logFormat: '${format}' });
      const text = ${JSON.stringify(HOSTILE)};
      log.info({ user: text, list: [text], err: new Error(text) }, text);`;
    const command = [process.execPath, '--input-type=module', '--eval', code].map(shellWord).join(' ');
    const seen = harmless(await shownBy(command));
    if (format === 'json') assert.equal(JSON.parse(seen).user, HOSTILE);
    else assert.match(seen, /INFO.*35mcolour.*\n *at .*eval/s);
  }
});
