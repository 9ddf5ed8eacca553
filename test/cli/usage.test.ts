import assert from 'node:assert/strict';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { launch, run, withStoreFolder } from './program.ts';

const verbs = [
  ['serve'],
  ['user', 'create'],
  ['user', 'list'],
  ['token', 'create'],
  ['token', 'list'],
  ['token', 'revoke'],
  ['openapi'],
] as const;

for (const verb of [[], ['user'], ['token'], ...verbs]) {
  test(`"plant-store ${verb.join(' ')}" has a help with examples, on standard output`, async () => {
    const { code, stdout, stderr } = await run([...verb, '--help']);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    assert.ok(stdout.startsWith(['Usage: plant-store', ...verb].join(' ')));
    assert.match(stdout, /Examples:\n {2}\$ plant-store /);
  });
}

test('--version prints the version alone', async () => {
  assert.deepEqual(await run(['--version']), {
    code: 0,
    signal: null,
    stdout: `${manifest.version}\n`,
    stderr: '',
  });
});

const wrong: readonly { args: readonly string[]; says: RegExp }[] = [
  { args: [], says: /^Usage: plant-store/ },
  { args: ['user'], says: /^Usage: plant-store user/ },
  { args: ['tokn'], says: /unknown command 'tokn'\n\(Did you mean token\?\)/ },
  { args: ['token', 'lst'], says: /unknown command 'lst'\n\(Did you mean list\?\)/ },
  { args: ['token', 'list', '--jsn'], says: /unknown option '--jsn'\n\(Did you mean --json\?\)/ },
  { args: ['serve', '--prt', '1'], says: /unknown option '--prt'\n\(Did you mean --port\?\)/ },
  { args: ['serve', '--bootstrap-token', 'x'], says: /unknown option '--bootstrap-token'/ },
  { args: ['serve', 'now'], says: /too many arguments/ },
  { args: ['user', 'create'], says: /missing required argument 'name'/ },
  { args: ['user', 'create', ' ann'], says: /A user name has 1 to 255 characters/ },
  { args: ['token', 'create'], says: /required option '--user <name>' not specified/ },
  {
    args: ['token', 'create', '--user', 'a', '--scopes', 'plants:eat'],
    says: /There is no scope "plants:eat"/,
  },
  { args: ['token', 'create', '--user', 'a', '--scopes', ''], says: /There is no scope ""/ },
  { args: ['token', 'create', '--user', 'a', '--expires-in', '0d'], says: /a number and a unit/ },
  { args: ['token', 'create', '--user', 'a', '--expires-in', '90'], says: /a number and a unit/ },
  { args: ['token', 'create', '--user', 'a', '--label', 'x\ny'], says: /A label has at most 255/ },
  { args: ['token', 'revoke', 'pst_x'], says: /It is the id that is needed/ },
  { args: ['user', 'list', '--data-dir', ''], says: /^error: --data-dir: The folder must be a path\.\n$/ },
];

for (const { args, says } of wrong) {
  test(`wrong usage ends with 2 and says why: ${JSON.stringify(args)}`, async () => {
    const { code, stdout, stderr } = await run(args);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, says);
  });
}

test('openapi prints the document', async () => {
  const { code, stdout, stderr } = await run(['openapi']);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  const document = JSON.parse(stdout);
  assert.equal(document.info.title, 'Plant Store');
  assert.match(document.openapi, /^3\.1\./);
});

test('a reader that goes away early is no failure', async () => {
  await withStoreFolder(async (folder) => {
    const child = launch(['user', 'list', '--json', '--data-dir', folder]);
    child.stdout.destroy();
    const [stderr, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
  });
});
