import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Scope, scopes } from '../../../src/access/scopes.ts';
import { run } from '../../../testkit/processes/program.ts';
import { type Answer, failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { exchange } from '../../../testkit/sockets/raw-client.ts';

const service = await startService();
after(() => service.stop());

const CHALLENGE = 'Bearer realm="plant-store"';
const operations: { method: string; path: string; scope: Scope; body?: unknown }[] = [
  { method: 'POST', path: '/plants', scope: 'plants:write', body: { name: 'Alder' } },
  { method: 'GET', path: '/plants', scope: 'plants:read' },
  { method: 'DELETE', path: '/plants/99', scope: 'plants:write' },
  { method: 'POST', path: '/webhooks', scope: 'webhooks:write', body: { url: 'https://203.0.113.1/' } },
  { method: 'GET', path: '/webhooks', scope: 'webhooks:read' },
  { method: 'GET', path: '/webhooks/wh_99', scope: 'webhooks:read' },
  { method: 'PATCH', path: '/webhooks/wh_99', scope: 'webhooks:write', body: {} },
  { method: 'DELETE', path: '/webhooks/wh_99', scope: 'webhooks:write' },
  { method: 'POST', path: '/webhooks/wh_99/rotate-secret', scope: 'webhooks:write' },
  { method: 'POST', path: '/webhooks/wh_99/test', scope: 'webhooks:write' },
  { method: 'GET', path: '/webhooks/wh_99/deliveries', scope: 'webhooks:read' },
  { method: 'GET', path: '/webhooks/wh_99/deliveries/evt_99', scope: 'webhooks:read' },
  { method: 'POST', path: '/webhooks/wh_99/deliveries/evt_99/redeliver', scope: 'webhooks:write' },
  {
    method: 'POST',
    path: '/webhooks/wh_99/replay',
    scope: 'webhooks:write',
    body: { since: '2026-01-01T00:00:00Z' },
  },
  { method: 'GET', path: '/events', scope: 'webhooks:read' },
  { method: 'GET', path: '/activity', scope: 'webhooks:read' },
  // Refused for its parameter, so that no stream opens.
  { method: 'GET', path: '/events/stream?x', scope: 'webhooks:read' },
];

/** `GET /plants` with exactly these Authorization fields. */
function withFields(...values: string[]): Promise<Answer> {
  const fields = values.map((value) => `Authorization: ${value}\r\n`).join('');
  return exchange(service.port, Buffer.from(`GET /plants HTTP/1.1\r\nHost: x\r\n${fields}\r\n`, 'latin1'));
}

function challenged(answer: Answer, rest = ''): void {
  assert.equal(answer.headers.get('www-authenticate'), CHALLENGE + rest);
}

test('every operation requires a token', async () => {
  for (const { method, path, body } of operations) {
    const answer = await service.request(method, path, { body, token: null });
    failed(answer, 40100, /Authorization: Bearer/);
    challenged(answer);
  }
});

test('another scheme counts as no token', async () => {
  const schemes = [
    'Basic YWRtaW46YWRtaW4=',
    'Digest username="admin"',
    'Digest a="b", c="d"',
    'Digest\ta="b"',
    'AWS4-HMAC-SHA256 Credential=AKIA/20261122/eu/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=0a',
    'Negotiate YII+/A==',
    'Basic x, Bearer y',
    'DPoP a b c',
    'Basic é',
    'Basic',
    'Basic=x',
    'Token x',
    'Bearerx x',
    `${service.token}`,
  ];
  for (const value of schemes) {
    const answer = await withFields(value);
    failed(answer, 40100);
    challenged(answer);
  }
});

test('the scheme is case-insensitive, and spaces may follow it', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer ', ' Bearer']) {
    succeeded(await withFields(`${scheme} ${service.token}`), 200);
  }
});

test('a malformed header is refused', async () => {
  const wrong = [
    'Bearer',
    'Bearer ',
    'bearer',
    `Bearer ${service.token} x`,
    'Bearer a b',
    'Bearer a\tb',
    'Bearer é',
    'Bearer a,b',
    'Bearer a, b',
    'Bearer ,',
    'Bearer,a',
    'Bearer=a',
    'Bearer\ta',
    'bearer "a"="b", c',
    '"Bearer" a',
    ', Bearer a',
  ];
  for (const value of [...wrong, '', ' ', 'Bearer "a" , b', `Bearer ${service.token}, Basic x`]) {
    const answer = await withFields(value);
    failed(answer, 40005);
    challenged(answer, ', error="invalid_request"');
  }
});

test('a repeated header is refused, even if both are the same', async () => {
  const good = `Bearer ${service.token}`;
  for (const values of [
    [good, good],
    [good, 'Basic x'],
    ['Basic x', good],
    ['Digest a="b", c="d"', 'Negotiate x'],
    ['', good],
    [good, good, good],
  ]) {
    const answer = await withFields(...values);
    failed(answer, 40005, /more than once/);
    challenged(answer, ', error="invalid_request"');
  }
});

test('a token of up to 4 KiB is looked up and a longer one refused', async () => {
  failed(await withFields(`Bearer ${'x'.repeat(4096)}`), 40101);
  const answer = await withFields(`Bearer ${'x'.repeat(4097)}`);
  failed(answer, 40005, /4096/);
  challenged(answer, ', error="invalid_request"');
});

test('an unknown token is refused, whatever it looks like', async () => {
  const token = await service.tokenFor('typist');
  succeeded(await service.request('GET', '/plants', { token }), 200);
  const mistyped = `${token.slice(0, 10)}${token[10] === 'a' ? 'b' : 'a'}${token.slice(11)}`;
  const unknown = ['x', 'pst_', 'undefined', "'OR'1'='1", mistyped, token.toLowerCase(), token.slice(0, -1)];
  for (const text of [...unknown, `${token}0`, service.token.slice(1), `pst_${'0'.repeat(38)}`]) {
    const answer = await withFields(`Bearer ${text}`);
    const message = failed(answer, 40101);
    assert.ok(!message.includes(token.slice(4, 12)), message);
    challenged(answer, ', error="invalid_token"');
  }
});

test('an expired token and an unknown one get different errors', async () => {
  const answer = await service.request('GET', '/plants', {
    token: await service.tokenFor('late', { expiresInMs: -1 }),
  });
  failed(answer, 40102, /expired/);
  challenged(answer, ', error="invalid_token"');
  const inTime = await service.tokenFor('early', { expiresInMs: 3_600_000 });
  succeeded(await service.request('GET', '/plants', { token: inTime }), 200);
});

test('each operation needs its own scope and no other', async () => {
  for (const { method, path, scope, body } of operations) {
    const others = scopes.filter((other) => other !== scope);
    const lacking = await service.tokenFor('scoped', { scopes: others });
    const answer = await service.request(method, path, { body, token: lacking });
    failed(answer, 40300, new RegExp(scope));
    challenged(answer, `, error="insufficient_scope", scope="${scope}"`);

    const token = await service.tokenFor('scoped', { scopes: [scope] });
    const allowed = await service.request(method, path, { body, token });
    assert.ok(![401, 403].includes(allowed.status), `${method} ${path}: ${allowed.text}`);
  }
});

test('a token in the query is not read', async () => {
  for (const name of ['access_token', 'token', 'authorization']) {
    const path = `/plants?${name}=${service.token}`;
    const answer = await service.request('GET', path, { token: null });
    failed(answer, 40100);
    challenged(answer);
    failed(await service.request('GET', path), 40003, new RegExp(name));
  }
});

test('the token is checked before the content of the request', async () => {
  const token = null;
  failed(await service.request('POST', '/plants', { body: '{', token }), 40100);
  failed(
    await service.request('POST', '/plants', { body: 'x', token, headers: { 'content-type': 'text/x' } }),
    40100,
  );
  failed(await service.request('GET', '/plants?limit=0', { token }), 40100);
  failed(await service.request('DELETE', '/plants/abc', { token }), 40100);
  failed(await service.request('DELETE', '/webhooks/none', { token }), 40100);
});

test('a token that the command line revokes stops working at once, in the running service', async () => {
  const cli = async (...args: string[]) => {
    const { code, stdout } = await run([...args, '--data-dir', service.dataDir]);
    assert.equal(code, 0);
    return stdout.trim();
  };
  await cli('user', 'create', 'carol');
  const [first, second] = [await cli('token', 'create', '--user', 'carol'), await service.tokenFor('carol')];
  const ask = (token: string) => service.request('GET', '/plants', { token });
  for (let i = 0; i < 3; i++) {
    succeeded(await ask(first), 200);
    succeeded(await ask(second), 200);
  }

  const listed: { id: string; user: string }[] = JSON.parse(await cli('token', 'list', '--json'));
  const id = listed.find(({ user }) => user === 'carol')?.id ?? '';
  await cli('token', 'revoke', id);

  const answer = await ask(first);
  failed(answer, 40101, /revoked/);
  challenged(answer, ', error="invalid_token"');
  succeeded(await ask(second), 200);
});
