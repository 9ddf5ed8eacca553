import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { parseDatabaseUrl } from '../src/config/database-url.ts';

test('a URL names a host, and the port is 5432 when it names none', () => {
  assert.deepEqual(parseDatabaseUrl('postgres://ann@db.example.org/plants').hosts, [
    { host: 'db.example.org', port: 5432 },
  ]);
  assert.deepEqual(parseDatabaseUrl('postgresql://db:6000/plants').hosts, [{ host: 'db', port: 6000 }]);
});

test('several hosts are separated by commas, each with its own port, IPv6 addresses in brackets', () => {
  const { hosts } = parseDatabaseUrl('postgres://ann:pw@db-1,10.0.0.2:6000,[fd00::3],[::1]:65535/plants');
  assert.deepEqual(hosts, [
    { host: 'db-1', port: 5432 },
    { host: '10.0.0.2', port: 6000 },
    { host: 'fd00::3', port: 5432 },
    { host: '::1', port: 65_535 },
  ]);
});

test("the client reads each host's URL as the whole one is meant", () => {
  const url = parseDatabaseUrl('postgres://ann%40home:p%2F%3A%40%20s@db-1:6000,[fd00::3]/pl%20ants?ssl=true');
  const clients = url.hosts.map((host) => new pg.Client({ connectionString: url.urlFor(host) }));
  assert.deepEqual(
    clients.map(({ host, port, user, password, database }) => [host, port, user, password, database]),
    [
      ['db-1', 6000, 'ann@home', 'p/:@ s', 'pl ants'],
      ['fd00::3', 5432, 'ann@home', 'p/:@ s', 'pl ants'],
    ],
  );
  assert.deepEqual(
    clients.map(({ ssl }) => ssl),
    [true, true],
  );
});

test('the shown URL has the user, the hosts and the database, but no password or parameters', () => {
  const { shown } = parseDatabaseUrl(
    'postgresql://ann:canary@db-1,db-2:6000/plants?application_name=canary&ssl=true',
  );
  assert.equal(shown, 'postgres://ann@db-1,db-2:6000/plants');
  assert.equal(parseDatabaseUrl('postgres://db/plants').shown, 'postgres://db/plants');
});

const MALFORMED = [
  '',
  'plants',
  'db.example.org/plants',
  'mysql://ann:canary@db/plants',
  'postgres:ann:canary@db/plants',
  'postgres://ann:canary@db',
  'postgres://ann:canary@db/',
  'postgres://ann:canary@/plants',
  'postgres://ann@db/plants?sslmode=require&host=elsewhere',
  'postgres://ann@db/plants?password=canary',
  'postgres://ann@db/plants?%70assword=canary',
  'postgres://ann:canary%@db/plants',
  'postgres://ann:canary%ff@db/plants',
  'postgres://ann%zz:canary@db/plants',
  'postgres://ann:canary@db/plants%ff',
  'postgres://ann:canary@db,/plants',
  'postgres://ann:canary@,db/plants',
  'postgres://ann:can@ary@db/plants',
  'postgres://ann:can/ary@db/plants',
  'postgres://ann:can#ary@db/plants',
  'postgres://ann:can?ary@db/plants',
  'postgres://ann:can ary@db/plants',
  'postgres://ann:canary@db:0/plants',
  'postgres://ann:canary@db:65536/plants',
  'postgres://ann:canary@db:/plants',
  'postgres://ann:canary@db:x/plants',
  'postgres://ann:canary@fd00::3/plants',
  'postgres://ann:canary@[fd00::3/plants',
  'postgres://ann:canary@[plants]/plants',
  'postgres://ann:canary@d^b/plants',
  'postgres://ann:canary@db/plants#x',
  ' postgres://ann:canary@db/plants',
  'postgres://ann:canary@db/plants\n',
];

for (const text of MALFORMED) {
  test(`${JSON.stringify(text)} is refused with the form that is right, and is not repeated`, () => {
    assert.throws(
      () => parseDatabaseUrl(text),
      ({ message }: Error) => {
        assert.match(message, /^The database URL must have the form postgres:\/\/[^\n]*\.$/);
        assert.doesNotMatch(message, /canary|can.ary/);
        return true;
      },
    );
  });
}

test('a TLS mode that requires a certificate is translated for the client', () => {
  const [host] = parseDatabaseUrl('postgres://db/plants').hosts;
  assert.ok(host);
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
    const { urlFor } = parseDatabaseUrl(`postgres://db/plants?sslmode=${mode}&application_name=x`);
    assert.equal(urlFor(host), 'postgres://db:5432/plants?sslmode=verify-full&application_name=x');
  }
  const like = '?sslmode=require&uselibpqcompat=true';
  assert.ok(parseDatabaseUrl(`postgres://db/plants${like}`).urlFor(host).endsWith(like));
});

test('a TLS mode that would be ignored is refused, so that no password is sent without TLS', () => {
  for (const query of ['sslmode=bogus', 'sslmode']) {
    assert.throws(
      () => parseDatabaseUrl(`postgres://ann:canary@db/plants?application_name=x&${query}`),
      /^Error: The parameter sslmode must be one of disable, .*\.$/,
      query,
    );
  }
});

test('a parameter of TLS that would be ignored is refused, and is not repeated', () => {
  for (const query of [
    'sslMode=require',
    'ssl_mode=require',
    'SSL-MODE=REQUIRED',
    'sslmod=verify-full',
    'SSL=true',
    'requiressl=1',
    'tls=true',
    'sslmode=verify-full&sslcrl=revoked.pem',
    'sslmode=verify-full&ssl_min_protocol_version=TLSv1.3',
  ]) {
    assert.throws(
      () => parseDatabaseUrl(`postgres://ann:canary@db/plants?application_name=x&${query}`),
      /^Error: A parameter of TLS is unknown; known are sslmode, sslrootcert, .*\.$/,
      query,
    );
  }
});

test('parameters that have nothing to do with TLS may be those of other clients', () => {
  const query = 'connect_timeout=10&target_session_attrs=read-write&channel_binding=require';
  const { urlFor } = parseDatabaseUrl(`postgres://db/plants?sslmode=verify-full&${query}`);
  assert.ok(urlFor({ host: 'db', port: 5432 }).endsWith(query));
});

test('timeouts that would replace those of the service are refused by name', () => {
  for (const name of [
    'query_timeout',
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
  ]) {
    assert.throws(() => parseDatabaseUrl(`postgres://db/plants?${name}=0`), {
      message: `The service has its own ${name}; remove it from the database URL.`,
    });
  }
});
