import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort } from '../harness/free-port.ts';
import { noTerminal, onTerminal } from './on-terminal.ts';
import { launch, type Outcome, outcomeOf, run, withFolder } from './program.ts';
import { dataOf, failureOf, startRemote, wordsOf } from './remote.ts';

/** Runs a verb that finds this on its standard input. */
function runWith(input: string, args: readonly string[], env: Record<string, string>): Promise<Outcome> {
  const through = ['sh', '-c', 'printf %s "$INPUT" | "$@"', 'sh'];
  return outcomeOf(launch(args, { ...env, INPUT: input }, through));
}

type Place = {
  url: string;
  token: string;
  /** Of somebody who has a home, and nothing set. */
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

test('login saves what every verb then uses, for its owner alone; logout forgets it', async (t) => {
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
      'Forgot the profile "default". Its token works until it is revoked: plant-store token revoke ID\n',
    );
    assert.doesNotMatch(await readFile(path, 'utf8'), new RegExp(token));
    assert.match((await run(['plant', 'list'], env)).stderr, /There is no token\. .*plant-store login;/);
    assert.match(failureOf(await run(['logout'], env)), /There is no profile "default"\. .*login --list$/);
  });
});

test('profiles are told apart by --profile and PLANT_STORE_PROFILE, and listed without tokens', async (t) => {
  await atHome(t, async ({ url, env, login }) => {
    await login('--profile', 'work');
    assert.match((await run(['plant', 'list'], env)).stderr, /There is no token/);
    assert.equal((await run(['plant', 'list', '--profile', 'work'], env)).code, 0);
    assert.equal((await run(['plant', 'list'], { ...env, PLANT_STORE_PROFILE: 'work' })).code, 0);
    const missing = await run(['plant', 'list', '--profile', 'wrok'], env);
    assert.equal(missing.code, 2);
    assert.match(
      missing.stderr,
      /^error: There is no profile "wrok"\. To make it: plant-store login --profile wrok;/,
    );
    assert.equal(dataOf(await run(['login', '--list'], env)), `NAME  URL\nwork  ${url}\n`);
    assert.deepEqual(JSON.parse(dataOf(await run(['login', '--list', '--json'], env))), [
      { name: 'work', url },
    ]);
  });
});

test('a flag comes before the environment, and the environment before the profile', async (t) => {
  await atHome(t, async ({ url, token, env, login }) => {
    await login();
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const elsewhere = { PLANT_STORE_URL: nowhere, PLANT_STORE_TOKEN: 'other' };
    const list = (more: Record<string, string>, ...args: string[]) =>
      run(['plant', 'list', ...args], { ...env, ...more });
    assert.ok((await list(elsewhere)).stderr.startsWith(`error: Nothing answers at ${nowhere}. `));
    assert.equal((await list(elsewhere, '--url', url, '--token', token)).code, 0);
    assert.equal((await list(elsewhere, '--profile', 'default')).code, 0);
    assert.match((await list({ PLANT_STORE_TOKEN: 'other' })).stderr, /\(error 40101\)/);
    assert.match((await list({}, '--token', 'other')).stderr, /\(error 40101\)/);
    assert.equal((await list({ PLANT_STORE_TOKEN: '' })).code, 0);
    assert.match((await list({}, '--token', '')).stderr, /^error: --token: A token has one or more/);
  });
});

test('the token of a profile is sent to no other place', async (t) => {
  await atHome(t, async ({ url, token, env, login }) => {
    await login();
    for (const [args, more] of [
      [['--url', 'http://127.0.0.1:1'], {}],
      [[], { PLANT_STORE_URL: 'http://127.0.0.1:1' }],
      [['--profile', 'default', '--url', 'http://127.0.0.1:1'], { PLANT_STORE_TOKEN: 'other' }],
    ] as const) {
      const { code, stderr } = await run(['plant', 'list', ...args], { ...env, ...more });
      assert.equal(code, 2);
      assert.equal(
        stderr,
        `error: The token of the profile "default" is for ${url}, and is not sent to http://127.0.0.1:1. ` +
          'Save one for that place: plant-store login --url http://127.0.0.1:1 --profile NAME; or set PLANT_STORE_TOKEN.\n',
      );
    }
    const { stderr } = await run(['plant', 'list', '--url', `${url}/`], env);
    assert.doesNotMatch(stderr, new RegExp(token));
    assert.equal(stderr, 'There are no plants. To make one: plant-store plant create NAME\n');
  });
});

test('a token that the service refuses is not saved, and one that may do little is', async (t) => {
  const { service } = await startRemote(t);
  await withFolder(async (home) => {
    const env = { XDG_CONFIG_HOME: home };
    const args = ['login', '--token-stdin', '--url', service.url];
    assert.match(
      failureOf(await runWith('pst_wrong', args, env)),
      /does not take this token, and nothing was saved\. .*plant-store token create --user NAME$/,
    );
    await assert.rejects(stat(join(home, 'plant-store')), { code: 'ENOENT' });
    const hooks = await service.tokenFor('bob', { scopes: ['webhooks:read'] });
    assert.match(wordsOf(await runWith(hooks, args, env)), /^Saved the profile "default"/);
  });
});

test('without a terminal, a home or a readable file of profiles, it is said what to do', async (t) => {
  await atHome(t, async ({ url, token, env, path, login }) => {
    const alone = await run(['login'], env);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /^error: there is no terminal to ask on; --token-stdin reads the token/);
    const homeless = await runWith(token, ['login', '--token-stdin', '--url', url], {});
    assert.match(failureOf(homeless), /There is no place for a profile\. Set HOME or XDG_CONFIG_HOME/);
    await login();
    await writeFile(path, '{"profiles":[]}');
    const { code, stderr } = await run(['plant', 'list'], env);
    assert.equal(code, 2);
    assert.match(stderr, /config\.json: It is not a file of profiles\. Correct it, or remove it/);
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
