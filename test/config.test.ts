import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { mintToken } from '../src/access/tokens.ts';
import {
  ConfigError,
  type Environment,
  type Flags,
  readConfig,
  readStoreConfig,
  storePath,
} from '../src/config/config.ts';
import { settings } from '../src/config/settings.ts';

const TOKEN = 'chosen-by-the-operator-0123456789abcdef';

const folder = mkdtempSync(join(tmpdir(), 'plant-store-config-'));
after(() => rmSync(folder, { recursive: true }));

function problemsOf(env: Environment, flags: Flags = {}): readonly string[] {
  try {
    readConfig(env, flags);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return [];
}

function fileWith(content: string): string {
  const file = join(folder, randomBytes(6).toString('hex'));
  writeFileSync(file, content);
  return file;
}

test('without settings the defaults apply, and the config is frozen', () => {
  const config = readConfig({});
  assert.equal(config.port, 3000);
  assert.equal(config.host, '127.0.0.1');
  assert.equal(config.dataDir, resolve('data'));
  assert.equal(config.databaseUrl, undefined);
  assert.equal(config.databaseConnections, 10);
  assert.equal(config.databasePooler, 'none');
  assert.deepEqual([...config.roles], ['api', 'dispatch']);
  assert.equal(config.publicUrl, undefined);
  assert.equal(config.logLevel, 'info');
  assert.equal(config.logFormat, undefined);
  assert.deepEqual(config.webhookAllowedNetworks, []);
  assert.deepEqual(config.webhookRetrySchedule.slice(0, 3), [0, 5_000, 300_000]);
  assert.equal(config.webhookDisableAfter, 5 * 86_400_000);
  assert.equal(config.retentionDays, 30);
  assert.equal(config.bootstrapToken, undefined);
  assert.ok(Object.isFrozen(config));
});

test('every setting has a variable and a sentence, and its default is shown in the form to write it', () => {
  for (const setting of Object.values(settings)) {
    assert.match(setting.env, /^[A-Z]+(_[A-Z]+)*$/);
    assert.match(setting.description, /^[A-Z].*\.$/);
    if (/^(?:LOG_FORMAT|JWT_JWKS_URL)$/.test(setting.env) || setting.defaultText === undefined) continue;
    assert.deepEqual(setting.parse(setting.defaultText), setting.default);
  }
});

test('every setting but those with a secret is also a flag of the same name', () => {
  for (const { env, flag } of Object.values(settings)) {
    const isSecret = ['BOOTSTRAP_TOKEN', 'DATABASE_URL', 'OTEL_EXPORTER_OTLP_HEADERS'].includes(env);
    const expected = isSecret ? undefined : `--${env.toLowerCase().replaceAll('_', '-')}`;
    assert.equal(flag?.split(' ')[0], expected);
  }
});

test('a flag wins over the environment, and an empty variable counts as unset', () => {
  assert.equal(readConfig({ PORT: '1' }, { port: '2' }).port, 2);
  assert.equal(readConfig({ PORT: 'wrong' }, { port: '2' }).port, 2);
  assert.equal(readConfig({ PORT: '', HOST: '', PUBLIC_URL: '' }).port, 3000);
});

test('all problems are reported at once, each with its variable or flag', () => {
  const problems = problemsOf(
    {
      HOST: 'http://x',
      PUBLIC_URL: 'ftp://x',
      LOG_LEVEL: 'loud',
      LOG_FORMAT: 'xml',
      WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/33,nets',
      WEBHOOK_RETRY_SCHEDULE: 'soon',
      BOOTSTRAP_TOKEN: 'short',
      BOOTSTRAP_TOKEN_FILE: join(folder, 'missing'),
    },
    { port: '70000', dataDir: '' },
  );
  const sources = problems.map((problem) => problem.slice(0, problem.indexOf(':')));
  assert.deepEqual(sources.sort(), [
    '--data-dir',
    '--port',
    'BOOTSTRAP_TOKEN',
    'BOOTSTRAP_TOKEN, BOOTSTRAP_TOKEN_FILE',
    'BOOTSTRAP_TOKEN_FILE',
    'HOST',
    'LOG_FORMAT',
    'LOG_LEVEL',
    'PUBLIC_URL',
    'WEBHOOK_ALLOWED_NETWORKS',
    'WEBHOOK_RETRY_SCHEDULE',
  ]);
});

test('a port is an integer from 0 to 65535, in digits only', () => {
  assert.equal(readConfig({ PORT: '0' }).port, 0);
  assert.equal(readConfig({ PORT: '65535' }).port, 65_535);
  for (const port of ['65536', '-1', '+1', '1.0', '1e3', '0x10', ' 80', '80 ', '080', 'http']) {
    assert.equal(problemsOf({ PORT: port }).length, 1, port);
  }
});

test('a host is an address or a name, without scheme, brackets or port', () => {
  for (const host of ['0.0.0.0', '::', '::1', 'localhost', 'plants.example.org', 'node-1']) {
    assert.equal(readConfig({ HOST: host }).host, host);
  }
  for (const host of [
    '[::1]',
    'localhost:80',
    'http://localhost',
    '127.0.0',
    '256.0.0.1',
    'a b',
    '-a',
    'a/b',
  ]) {
    assert.equal(problemsOf({ HOST: host }).length, 1, host);
  }
});

test('the data folder becomes absolute, and the store is a file in it', () => {
  const { dataDir } = readConfig({ DATA_DIR: 'somewhere' });
  assert.equal(dataDir, resolve('somewhere'));
  assert.equal(storePath(dataDir), join(dataDir, 'plant-store.db'));
});

test('a database URL may be in a file, for every verb that works on the store', () => {
  const text = 'postgres://ann:canary@db-1/plants';
  for (const end of ['', '\n', '\r\n']) {
    const env = { DATABASE_URL_FILE: fileWith(text + end) };
    assert.equal(readConfig(env).databaseUrl?.text, text);
    assert.equal(readStoreConfig(env, {}).databaseUrl?.text, text);
  }
  const both = { DATABASE_URL: text, DATABASE_URL_FILE: fileWith(text) };
  assert.deepEqual(problemsOf(both), ['DATABASE_URL, DATABASE_URL_FILE: Both are set; only one may be.']);
  for (const content of ['ann:canary', `${text}\n${text}`]) {
    const [problem = ''] = problemsOf({ DATABASE_URL_FILE: fileWith(content) });
    assert.match(problem, /^DATABASE_URL_FILE: The database URL must have the form/);
    assert.doesNotMatch(problem, /canary/);
  }
  assert.match(problemsOf({ DATABASE_URL_FILE: join(folder, 'missing') }).join(), /cannot be read/);
});

test('a database URL names the hosts of a database, and a problem with it repeats no password', () => {
  const { databaseUrl } = readConfig({ DATABASE_URL: 'postgres://ann:canary@db-1,db-2:6000/plants' });
  assert.deepEqual(databaseUrl?.hosts, [
    { host: 'db-1', port: 5432 },
    { host: 'db-2', port: 6000 },
  ]);
  const problems = problemsOf({ DATABASE_URL: 'postgres://ann:canary@db-1:x/plants' });
  assert.match(problems.join(), /^DATABASE_URL: The database URL must have the form/);
  assert.doesNotMatch(problems.join(), /canary/);
});

test('connections to the database are from 2 to 1000, and the pooler is none or transaction', () => {
  assert.equal(readConfig({ DATABASE_CONNECTIONS: '2' }).databaseConnections, 2);
  assert.equal(readConfig({}, { databaseConnections: '1000' }).databaseConnections, 1000);
  assert.equal(readConfig({ DATABASE_POOLER: 'transaction' }).databasePooler, 'transaction');
  for (const DATABASE_CONNECTIONS of ['0', '1', '1001', '-2', '2.5', 'many', ' 2']) {
    assert.equal(problemsOf({ DATABASE_CONNECTIONS }).length, 1, DATABASE_CONNECTIONS);
  }
  for (const DATABASE_POOLER of ['session', 'Transaction', 'on']) {
    assert.equal(problemsOf({ DATABASE_POOLER }).length, 1, DATABASE_POOLER);
  }
});

test('replicas on a database may share the work by roles; the embedded store has all roles', () => {
  const rolesOf = (ROLES: string) => [
    ...readConfig({ DATABASE_URL: 'postgres://ann@db/plants', ROLES }).roles,
  ];
  assert.deepEqual(rolesOf('api'), ['api']);
  assert.deepEqual(rolesOf('dispatch'), ['dispatch']);
  assert.deepEqual(rolesOf('dispatch, api'), ['dispatch', 'api']);
  assert.deepEqual([...readConfig({ ROLES: 'api,dispatch' }).roles], ['api', 'dispatch']);
  for (const ROLES of ['API', 'api,', ',', 'api dispatch', 'reader']) {
    assert.equal(problemsOf({ DATABASE_URL: 'postgres://ann@db/plants', ROLES }).length, 1, ROLES);
  }
  assert.match(problemsOf({ ROLES: 'api' }).join(), /^ROLES: .*DATABASE_URL/);
  assert.match(problemsOf({}, { roles: 'dispatch' }).join(), /DATABASE_URL/);
});

test('what every verb needs to find the store is read without the other settings', () => {
  const config = readStoreConfig(
    { DATABASE_URL: 'postgres://ann@db/plants', DATABASE_POOLER: 'transaction', PORT: 'wrong' },
    {},
  );
  assert.deepEqual(
    [config.databaseUrl?.shown, config.databasePooler],
    ['postgres://ann@db/plants', 'transaction'],
  );
  assert.equal(readStoreConfig({ PORT: 'wrong' }, { dataDir: 'somewhere' }).dataDir, resolve('somewhere'));
  assert.throws(() => readStoreConfig({ DATABASE_URL: 'x', DATABASE_POOLER: 'x' }, {}), ConfigError);
});

test('--data-dir together with a database is a problem; DATA_DIR is ignored', () => {
  const env = { DATABASE_URL: 'postgres://ann@db/plants', DATA_DIR: '/var/lib/plant-store' };
  assert.deepEqual(problemsOf(env), []);
  assert.match(problemsOf(env, { dataDir: 'elsewhere' }).join(), /^--data-dir: DATABASE_URL is set/);
});

test('the names that tokens are checked by have no white space around them, which would refuse every token', () => {
  const names = { JWT_AUDIENCE: 'https://plants', JWT_USER_CLAIM: 'sub', JWT_SCOPE_CLAIM: 'my scopes' };
  const env = { JWT_ISSUER: 'https://id', ...names };
  assert.equal(readConfig(env).jwtScopeClaim, 'my scopes');
  for (const [name, value] of Object.entries(names)) {
    for (const spaced of [` ${value}`, `${value} `, `${value}\u00a0`, `\ufeff${value}`, ' ']) {
      const problems = problemsOf({ ...env, [name]: spaced });
      assert.match(
        problems.join(),
        new RegExp(`^${name}: The \\w+ must be .* surrounding white space\\.`),
        spaced,
      );
    }
  }
});

test('a public URL loses its trailing slash', () => {
  assert.equal(readConfig({ PUBLIC_URL: 'https://example.org/' }).publicUrl, 'https://example.org');
  assert.equal(
    readConfig({ PUBLIC_URL: 'http://EXAMPLE.org:8080/a/b/' }).publicUrl,
    'http://example.org:8080/a/b',
  );
});

test('a public URL is http or https, without user, query and fragment, and is not repeated in the problem', () => {
  const wrong = [
    'example.org',
    'ftp://a',
    'https://a?',
    'https://a/?x=1',
    'https://a#',
    'https://u:secret@a',
    'https://a b',
  ];
  for (const url of wrong) {
    const problems = problemsOf({ PUBLIC_URL: url });
    assert.equal(problems.length, 1, url);
    assert.doesNotMatch(problems.join(), /secret/);
  }
});

test('a bootstrap token has no comma, which a header could not carry', () => {
  assert.throws(() => readConfig({ BOOTSTRAP_TOKEN: `${TOKEN},${TOKEN}` }), /without a comma/);
});

test('a bootstrap token comes from the environment or from a file, whose final line break is not part of it', () => {
  assert.equal(readConfig({ BOOTSTRAP_TOKEN: TOKEN }).bootstrapToken, TOKEN);
  for (const end of ['', '\n', '\r\n']) {
    assert.equal(readConfig({ BOOTSTRAP_TOKEN_FILE: fileWith(TOKEN + end) }).bootstrapToken, TOKEN);
  }
  assert.equal(readConfig({ BOOTSTRAP_TOKEN: mintToken(randomBytes) }).bootstrapToken?.length, 42);
});

test('a bootstrap token has 32 to 255 visible ASCII characters, and no problem repeats it', () => {
  assert.equal(readConfig({ BOOTSTRAP_TOKEN: 'x'.repeat(32) }).bootstrapToken, 'x'.repeat(32));
  assert.equal(readConfig({ BOOTSTRAP_TOKEN: '~'.repeat(255) }).bootstrapToken, '~'.repeat(255));
  for (const token of [
    'q'.repeat(31),
    'q'.repeat(256),
    `${'q'.repeat(20)} ${'q'.repeat(20)}`,
    'qé'.repeat(20),
  ]) {
    for (const env of [{ BOOTSTRAP_TOKEN: token }, { BOOTSTRAP_TOKEN_FILE: fileWith(token) }]) {
      const problems = problemsOf(env);
      assert.equal(problems.length, 1);
      assert.doesNotMatch(problems.join(), /q{3}|qé/);
    }
  }
});

test('a file with an empty line after the token, and a missing file, are problems', () => {
  assert.equal(problemsOf({ BOOTSTRAP_TOKEN_FILE: fileWith(`${TOKEN}\n\n`) }).length, 1);
  assert.match(problemsOf({ BOOTSTRAP_TOKEN_FILE: join(folder, 'missing') }).join(), /cannot be read/);
  assert.match(problemsOf({ BOOTSTRAP_TOKEN_FILE: folder }).join(), /cannot be read/);
});

test('a bootstrap token is what the operator chose, even if it looks like a mistyped token of the service', () => {
  const token = mintToken(randomBytes);
  const mistyped = token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a');
  assert.equal(readConfig({ BOOTSTRAP_TOKEN: mistyped }).bootstrapToken, mistyped);
});

test('other origins are exact: no path, no pattern, no name without a scheme', () => {
  const { corsOrigins } = readConfig({ CORS_ORIGINS: 'https://garden.example.org, http://localhost:5173,' });
  assert.deepEqual(corsOrigins, ['https://garden.example.org', 'http://localhost:5173']);
  for (const wrong of [
    '*',
    'null',
    'garden.example.org',
    'https://garden.example.org/',
    'https://*.example.org',
    'HTTPS://garden.example.org',
    'https://garden.example.org:443',
    'file:///',
  ]) {
    assert.equal(problemsOf({ CORS_ORIGINS: wrong }).length, 1, wrong);
  }
});
