import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { launch, type Outcome, outcomeOf, run, withFolder } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { startCuttingProxy } from '../../../testkit/service/cutting-proxy.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { commandOf, noTerminal, onTerminal, shownBy } from '../on-terminal.ts';

/** Runs a verb with this standard input. */
function runWith(input: string, args: readonly string[], env: Record<string, string>): Promise<Outcome> {
  const through = ['sh', '-c', 'printf %s "$INPUT" | "$@"', 'sh'];
  return outcomeOf(launch(args, { ...env, INPUT: input }, through));
}

type Place = {
  url: string;
  token: string;
  /** A person with a home folder and no settings. */
  env: { HOME: string };
  path: string;
  login(...args: string[]): Promise<Outcome>;
};

async function atHome(t: TestContext, work: (place: Place) => Promise<void>): Promise<void> {
  const { service } = await startRemote(t);
  const { url, token } = service;
  await withFolder(async (home) => {
    const env = { HOME: home };
    const path = join(home, '.config', 'plant-store', 'config.json');
    const login = (...args: string[]) =>
      runWith(`${token}\n`, ['login', '--token-stdin', '--url', url, ...args], env);
    await work({ url, token, env, path, login });
  });
}

test('login saves a profile for every verb, readable by its owner only; logout removes it', async (t) => {
  await atHome(t, async ({ url, env, path, token, login }) => {
    assert.equal(
      wordsOf(await login()),
      `Saved the profile "default" for ${url}, as the user "admin", in ${path}.\n`,
    );
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal((await stat(join(path, '..'))).mode & 0o777, 0o700);
    assert.equal(dataOf(await run(['plant', 'create', 'Alder', '-q'], env)), '1\n');
    assert.equal(dataOf(await run(['plant', 'list'], env)), 'ID  NAME   TAG  OWNER\n1   Alder       admin\n');
    assert.equal(
      wordsOf(await run(['logout'], env)),
      'Forgot the profile "default". Its token stays valid until revoked: plant-store token revoke ID\n',
    );
    assert.doesNotMatch(await readFile(path, 'utf8'), new RegExp(token));
    assert.match((await run(['plant', 'list'], env)).stderr, /No token is set\. .*plant-store login\./);
    assert.match(failureOf(await run(['logout'], env)), /There is no profile "default"\. .*login --list$/);
  });
});

test('--profile and PLANT_STORE_PROFILE select a profile, and profiles are listed without tokens', async (t) => {
  await atHome(t, async ({ url, env, login }) => {
    await login('--profile', 'work');
    assert.match((await run(['plant', 'list'], env)).stderr, /No token is set/);
    assert.equal((await run(['plant', 'list', '--profile', 'work'], env)).code, 0);
    assert.equal((await run(['plant', 'list'], { ...env, PLANT_STORE_PROFILE: 'work' })).code, 0);
    const missing = await run(['plant', 'list', '--profile', 'wrok'], env);
    assert.equal(missing.code, 2);
    assert.match(
      missing.stderr,
      /^error: There is no profile "wrok"\. To create it: plant-store login --profile wrok\./,
    );
    assert.equal(
      dataOf(await run(['login', '--list'], env)),
      `NAME  URL${' '.repeat(url.length - 3)}  USER   IN USE\nwork  ${url}  admin\n`,
    );
    assert.deepEqual(JSON.parse(dataOf(await run(['login', '--list', '--json'], env))), [
      { name: 'work', url, user: 'admin', isUsed: false },
    ]);
    const counting = await run(['login', '--list'], { ...env, PLANT_STORE_PROFILE: 'work' });
    assert.match(dataOf(counting), /\nwork .* admin {2}yes\n$/);
  });
});

test('a flag overrides the environment, and the environment overrides the profile', async (t) => {
  await atHome(t, async ({ url, token, env, login }) => {
    await login();
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const elsewhere = { PLANT_STORE_URL: nowhere, PLANT_STORE_TOKEN: 'other' };
    const list = (more: Record<string, string>, ...args: string[]) =>
      run(['plant', 'list', ...args], { ...env, ...more });
    assert.ok((await list(elsewhere)).stderr.startsWith(`error: Nothing answers at ${nowhere}. `));
    assert.equal((await list(elsewhere, '--url', url, '--token', token)).code, 0);
    assert.equal((await list(elsewhere, '--profile', 'default')).code, 0);
    assert.match((await list({}, '--token', 'other')).stderr, /\(error 40101\)/);
    assert.equal((await list({ PLANT_STORE_TOKEN: '' })).code, 0);
    assert.match((await list({}, '--token', '')).stderr, /^error: --token: A token consists of/);
  });
});

test('the token of a profile is sent to no other URL', async (t) => {
  await atHome(t, async ({ url, token, env, login }) => {
    await login();
    for (const [args, more] of [
      [['--url', 'http://127.0.0.1:1'], {}],
      [[], { PLANT_STORE_URL: 'http://127.0.0.1:1' }],
      [['--profile', 'default', '--url', 'http://127.0.0.1:1'], { PLANT_STORE_TOKEN: 'other' }],
    ] as [string[], Record<string, string>][]) {
      const { code, stderr } = await run(['plant', 'list', ...args], { ...env, ...more });
      assert.equal(code, 2);
      assert.equal(
        stderr,
        `error: The token of the profile "default" is only for ${url}, not for http://127.0.0.1:1. ` +
          'Save a token for that URL: plant-store login --url http://127.0.0.1:1 --profile NAME; or set PLANT_STORE_TOKEN' +
          `${args.includes('--profile') ? ' and omit --profile' : ''}.\n`,
      );
    }
    const { stderr } = await run(['plant', 'list', '--url', `${url}/`], env);
    assert.doesNotMatch(stderr, new RegExp(token));
    assert.equal(stderr, 'No plants. To create one: plant-store plant create NAME\n');
  });
});

test("a token from the environment is not sent to a profile's URL", async (t) => {
  const { service } = await startRemote(t);
  const proxy = await startCuttingProxy(t, service.url, () => 'pass');
  await withFolder(async (home) => {
    const env = { HOME: home };
    wordsOf(await runWith(service.token, ['login', '--token-stdin', '--url', proxy.url], env));
    assert.equal(proxy.seen.length, 1);
    const { code } = await run(['plant', 'list'], { ...env, PLANT_STORE_TOKEN: 'other' });
    assert.deepEqual([code, proxy.seen.length], [1, 1]);
    for (const [args, more] of [
      [['--profile', 'default'], {}],
      [['--url', proxy.url], { PLANT_STORE_TOKEN: service.token }],
      [[], { PLANT_STORE_TOKEN: service.token, PLANT_STORE_URL: proxy.url }],
    ] as const) {
      assert.equal((await run(['plant', 'list', ...args], { ...env, ...more })).code, 0);
    }
    assert.equal(proxy.seen.length, 4);
  });
});

test('an error in a profile names the profile, and its URL may end with a slash', async (t) => {
  await atHome(t, async ({ url, token, env, path, login }) => {
    await login();
    const save = (profile: object) => writeFile(path, JSON.stringify({ profiles: { default: profile } }));
    await save({ url: `${url}/`, token });
    assert.equal((await run(['plant', 'list'], env)).code, 0);
    await save({ url: 'plants', token: 'two words' });
    assert.match(
      (await run(['plant', 'list'], env)).stderr,
      /^error: The profile "default": It must be an http.*\nerror: The profile "default": A token consists/,
    );
    await save({ url, token: 'pst_revoked' });
    assert.match(failureOf(await run(['plant', 'list'], env)), /The token is from the profile "default"\./);
  });
});

test('concurrent logins save every profile', async (t) => {
  await atHome(t, async ({ env, path, login }) => {
    const names = Array.from({ length: 6 }, (_, index) => `p${index}`);
    const outcomes = await Promise.all(names.map((name) => login('--profile', name)));
    for (const outcome of outcomes) wordsOf(outcome);
    const saved = JSON.parse(dataOf(await run(['login', '--list', '--json'], env)));
    assert.deepEqual(saved.map(({ name }: { name: string }) => name).sort(), names);
    assert.deepEqual(await readdir(join(path, '..')), ['config.json']);
  });
});

test('a login that was killed while it saved does not hold up the next one', async (t) => {
  await atHome(t, async ({ path, login }) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.lock`, '');
    assert.match(wordsOf(await login()), /^Saved the profile "default"/);
    assert.deepEqual(await readdir(dirname(path)), ['config.json']);
  });
});

test('an unwritable profile gives a readable error and leaves nothing', async (t) => {
  const { service } = await startRemote(t);
  await withFolder(async (home) => {
    const env = { XDG_CONFIG_HOME: home, INPUT: service.token };
    const through = ['sh', '-c', 'ulimit -f 0; printf %s "$INPUT" | "$@"', 'sh'];
    const failed = await outcomeOf(launch(['login', '--token-stdin', '--url', service.url], env, through));
    assert.match(
      failureOf(failed),
      /config\.json cannot be written: the file would exceed .*\. Nothing was saved\.$/,
    );
    assert.deepEqual(await readdir(join(home, 'plant-store')), []);
  });
});

test('a refused token is not saved, a token with few scopes is', async (t) => {
  const { service } = await startRemote(t);
  await withFolder(async (home) => {
    const env = { XDG_CONFIG_HOME: home };
    const args = ['login', '--token-stdin', '--url', service.url];
    assert.match(
      failureOf(await runWith('pst_wrong', args, env)),
      /does not accept this token\. Nothing was saved\. .*plant-store token create --user NAME$/,
    );
    await assert.rejects(stat(join(home, 'plant-store')), { code: 'ENOENT' });
    const hooks = await service.tokenFor('bob', { scopes: ['webhooks:read'] });
    assert.match(wordsOf(await runWith(hooks, args, env)), /^Saved the profile "default"/);
  });
});

test('without a terminal, a home or a readable file of profiles, login says what to do', async (t) => {
  await atHome(t, async ({ url, token, env, path, login }) => {
    const alone = await run(['login'], env);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /^error: no terminal to ask on; --token-stdin reads the token/);
    const homeless = await runWith(token, ['login', '--token-stdin', '--url', url], {});
    assert.match(failureOf(homeless), /Profiles have no folder\. Set HOME or XDG_CONFIG_HOME/);
    await login();
    await writeFile(path, '{"profiles":[]}');
    const { code, stderr } = await run(['plant', 'list'], env);
    assert.equal(code, 2);
    assert.match(stderr, /config\.json: This is not a valid file of profiles\. Correct it, or remove it/);
  });
});

test('on a terminal the token is asked for, and not shown', { skip: noTerminal() }, async (t) => {
  await atHome(t, async ({ url, token, env, path }) => {
    const shown = await onTerminal(['login', '--url', url], {
      env,
      at: 'Token (it is not shown): ',
      keys: `${token}\r`,
    });
    assert.match(shown, /Token \(it is not shown\): \r?\n/);
    assert.match(shown, /Saved the profile "default"/);
    assert.doesNotMatch(shown, new RegExp(token));
    assert.match(await readFile(path, 'utf8'), new RegExp(token));
  });
});

test('Ctrl+C at a question of login ends it without a request, and with 130', {
  skip: noTerminal(),
}, async (t) => {
  const { service } = await startRemote(t);
  const proxy = await startCuttingProxy(t, service.url, () => 'pass');
  await withFolder(async (home) => {
    const env = { HOME: home, PLANT_STORE_URL: proxy.url };
    const at = 'Where is the service?';
    for (const [keys, code] of Object.entries({ '\u0003': 130, '\u0004': 1, '\r\u0003': 130 })) {
      const shown = await shownBy(`${commandOf(['login'])}; echo $?`, env, (child, seen, before) => {
        if (seen.includes(at) && !before.includes(at)) child.stdin.write(keys);
      });
      assert.match(shown, new RegExp(`\\nerror: Nothing was saved\\.\\r\\n${code}\\r\\n$`));
    }
    assert.deepEqual([proxy.seen, await readdir(home)], [[], []]);
  });
});

test('a token pasted together with the URL is not shown', { skip: noTerminal() }, async (t) => {
  await atHome(t, async ({ url, token, env, path }) => {
    const keys = `${url}\r${token}\r`;
    const shown = await onTerminal(['login'], { env, at: 'Where is the service?', keys });
    assert.match(shown, /Saved the profile "default"/);
    assert.doesNotMatch(shown, new RegExp(token));
    assert.match(await readFile(path, 'utf8'), new RegExp(token));
  });
});
