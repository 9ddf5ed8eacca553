import assert from 'node:assert/strict';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import manifest from '../../../package.json' with { type: 'json' };
import { launch, run, withStoreFolder } from '../../../testkit/processes/program.ts';

test('version and --version print the version alone', async () => {
  const expected = { code: 0, signal: null, stdout: `${manifest.version}\n`, stderr: '' };
  assert.deepEqual([await run(['version']), await run(['--version'])], [expected, expected]);
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
  { args: ['plant', 'import'], says: /missing required argument 'file'/ },
  { args: ['plant', 'import', 'p.csv', '--concurrency', '0'], says: /It must be an integer from 1 to 1000/ },
  { args: ['plant', 'import', 'p.csv', '--patience', '5'], says: /a number and a unit/ },
  { args: ['user', 'create'], says: /missing required argument 'name'/ },
  { args: ['user', 'create', ' ann'], says: /A user name has 1 to 255 characters/ },
  { args: ['token', 'create'], says: /--user or --own is needed/ },
  {
    args: ['token', 'create', '--user', 'a', '--scopes', 'plants:eat'],
    says: /There is no scope "plants:eat"/,
  },
  { args: ['token', 'create', '--user', 'a', '--scopes', ''], says: /There is no scope ""/ },
  { args: ['token', 'create', '--user', 'a', '--expires-in', '0d'], says: /a number and a unit/ },
  { args: ['token', 'create', '--user', 'a', '--expires-in', '90'], says: /a number and a unit/ },
  { args: ['token', 'create', '--user', 'a', '--label', 'x\ny'], says: /A label has at most 255/ },
  { args: ['token', 'revoke', 'pst_x'], says: /Pass the id/ },
  { args: ['token', 'show', 'pst_x'], says: /Pass the id \(tok_…\)/ },
  { args: ['token', 'rotate', 'tok_1', '--overlap', '31d'], says: /a duration such as 30m, .* at most 30d/ },
  { args: ['token', 'rotate', 'tok_1', '--expires-in', '0'], says: /a number and a unit/ },
  { args: ['share', 'add', '--owner', 'ann'], says: /required option '--viewer <name>' not specified/ },
  { args: ['share', 'remove', '--viewer', 'bob'], says: /required option '--owner <name>' not specified/ },
  { args: ['user', 'delete', 'ann'], says: /^error: no terminal to ask on; --yes deletes/ },
  { args: ['webhok'], says: /unknown command 'webhok'\n\(Did you mean webhook\?\)/ },
  { args: ['delivery', 'lst'], says: /unknown command 'lst'\n\(Did you mean list\?\)/ },
  { args: ['webhook', 'show', 'evt_1'], says: /Pass the id \(wh_…\)/ },
  { args: ['webhook', 'show', 'wh_1/../x'], says: /Pass the id \(wh_…\)/ },
  { args: ['delivery', 'show', 'wh_1', 'wh_1'], says: /Pass the id \(evt_…\)/ },
  { args: ['webhook', 'create', 'https://a.b/', '--rate', '1001'], says: /an integer from 1 to 1000/ },
  { args: ['webhook', 'update', 'wh_1'], says: /nothing to change; pass --to, --description or --rate/ },
  { args: ['webhook', 'update', 'wh_1', '--rate', '0'], says: /from 1 to 1000, or none for no limit/ },
  { args: ['webhook', 'rotate', 'wh_1', '--overlap', '31d'], says: /a duration such as 30m, .* at most 30d/ },
  { args: ['webhook', 'replay', 'wh_1'], says: /required option '--since <time>' not specified/ },
  { args: ['webhook', 'replay', 'wh_1', '--since', 'noon'], says: /a duration before now, such as 30m/ },
  {
    args: ['webhook', 'replay', 'wh_1', '--since', '2026-02-30T09:00:00Z'],
    says: /or a time with an offset, such as 2026-11-21T09:00:00Z\.\n/,
  },
  {
    args: ['webhook', 'replay', 'wh_1', '--since', '1h', '--state', 'lost'],
    says: /Allowed choices are pending/,
  },
  { args: ['delivery', 'list', 'wh_1', '--limit', '0'], says: /an integer from 1 to 999999999/ },
  { args: ['delivery', 'list', 'wh_1', '--limit', '5', '--all'], says: /'--all' cannot be used with/ },
  { args: ['listen', '--forward-to', 'localhost/hook'], says: /an http or https URL such as/ },
  { args: ['listen', '--forward-to', 'http://a:b@localhost/'], says: /must not contain a user name/ },
  {
    args: ['listen', '--secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    says: /--secret requires --forward-to/,
  },
  {
    args: ['listen', '--forward-to', 'http://localhost/', '--secret', 'whsec_short'],
    says: /It must be whsec_ and base64 of 24 to 64 bytes/,
  },
  { args: ['backup', '-'], says: /It must be a name, and - is not one/ },
  { args: ['restore', '-'], says: /It must be a name/ },
  { args: ['user', 'list', '--data-dir', '-'], says: /It must be a name/ },
  { args: ['serve', '--database-url-file', '-'], says: /It must be a name/ },
  { args: ['plant', 'import', 'p.csv', '--errors', '-'], says: /It must be a name/ },
  { args: ['plant', 'import', 'p.csv', '--errors', ''], says: /It must be a name\.\n/ },
  { args: ['plant', 'export', ''], says: /It must be a name\.\n/ },
  { args: ['user', 'list', '--data-dir', ''], says: /^error: --data-dir: The folder must be a path\.\n$/ },
];

for (const { args, says } of wrong) {
  test(`wrong usage exits with 2 and says why: ${JSON.stringify(args)}`, async () => {
    const { code, stdout, stderr } = await run(args);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, says);
  });
}

for (const args of [
  ['pst_hidden'],
  ['login', 'pst_hidden'],
  ['login', 'eyJhidden.hidden.hidden'],
  ['whoami', '-q', 'whsec_hid+den/hidden=', 'pst_hidden'],
  ['token', 'revoke', 'pst_hidden'],
  ['webhook', 'show', 'whsec_hid+den/hidden='],
  ['copy', 'postgres://hidden:hid,\'"den@localhost/hidden'],
  ['copy', '--from', 'postgresql://hidden:hidden@localhost/hidden'],
  ['listen', '--secrt=whsec_hidden'],
  ['listen', '--forward-to', 'localhost:4000', '--secret', 'hidden'],
  ['listen', '--forward-to', 'http://hidden:hidden@localhost/'],
  ['listen', '--forward-to', 'ftp://hidden:hidden@localhost/'],
]) {
  test(`wrong usage does not print a secret: ${JSON.stringify(args)}`, async () => {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^error: /);
    assert.doesNotMatch(stderr, /hid|den/);
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

test('a reader that leaves early is not a failure', async () => {
  await withStoreFolder(async (folder) => {
    const child = launch(['user', 'list', '--json', '--data-dir', folder]);
    child.stdout.destroy();
    const [stderr, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
  });
});
