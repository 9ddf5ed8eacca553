import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { catalogue } from '../../src/errors.ts';
import { openapiDocument } from '../../src/http/routes/openapi.ts';
import { type Answer, succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';
import { exchange } from '../../testkit/sockets/raw-client.ts';
import { chunk, head, usual } from '../../testkit/sockets/raw-request.ts';

const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
after(() => service.stop());

/** JSON whose expected shape each test states; a wrong expectation fails the test. */
// biome-ignore lint/suspicious/noExplicitAny: the document is walked freely, and every step is asserted
type Json = any;

const document: Json = succeeded(await service.request('GET', '/openapi.json', { token: null }), 200);

const operations = [
  ['post', '/plants', 'plants:write'],
  ['get', '/plants', 'plants:read'],
  ['delete', '/plants/{id}', 'plants:write'],
  ['post', '/webhooks', 'webhooks:write'],
  ['get', '/webhooks', 'webhooks:read'],
  ['get', '/webhooks/{id}', 'webhooks:read'],
  ['patch', '/webhooks/{id}', 'webhooks:write'],
  ['delete', '/webhooks/{id}', 'webhooks:write'],
  ['post', '/webhooks/{id}/rotate-secret', 'webhooks:write'],
  ['post', '/webhooks/{id}/test', 'webhooks:write'],
  ['get', '/webhooks/{id}/deliveries', 'webhooks:read'],
  ['get', '/webhooks/{id}/deliveries/{event}', 'webhooks:read'],
  ['post', '/webhooks/{id}/deliveries/{event}/redeliver', 'webhooks:write'],
  ['post', '/webhooks/{id}/replay', 'webhooks:write'],
  ['get', '/deliveries', 'webhooks:read'],
  ['get', '/events', 'webhooks:read'],
  ['get', '/events/stream', 'webhooks:read'],
  ['get', '/activity', 'webhooks:read'],
  ['get', '/me', undefined],
  ['get', '/tokens', 'tokens:read'],
  ['post', '/tokens', 'tokens:write'],
  ['post', '/tokens/{id}/rotate', 'tokens:write'],
  ['delete', '/tokens/{id}', 'tokens:write'],
] as const;

/** JSON Schema 2020-12, the basis of OpenAPI 3.1. Refuses unknown keywords and formats. */
const ajv = new Ajv2020({
  strict: true,
  formats: {
    int64: true,
    date: /^\d{4}-\d\d-\d\d$/,
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/,
  },
});

/** A part of the document with its references resolved. */
function resolved(part: Json): Json {
  if (Array.isArray(part)) return part.map(resolved);
  if (typeof part !== 'object' || part === null) return part;
  if (typeof part.$ref === 'string') return resolved(referred(part.$ref));
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, resolved(value)]));
}

/** What a reference such as `#/components/schemas/Plant` points to. */
function referred(reference: string): Json {
  const [root, ...names] = reference.split('/');
  assert.equal(root, '#', reference);
  let part = document;
  for (const name of names) {
    assert.ok(Object.hasOwn(part, name), reference);
    part = part[name];
  }
  return part;
}

function references(part: Json): string[] {
  if (typeof part !== 'object' || part === null) return [];
  return typeof part.$ref === 'string' ? [part.$ref] : Object.values(part).flatMap(references);
}

/** Asserts that the document describes this answer: status, type, headers and body. */
function conforms(answer: Answer, method: string, path: string): void {
  const described = resolved(document.paths[path][method].responses[answer.status]);
  assert.ok(described !== undefined, `${method} ${path} has no ${answer.status}: ${answer.text}`);
  const ofSuccess = answer.status < 400 ? ['idempotent-replayed'] : [];
  for (const name of ['location', 'link', 'www-authenticate', 'retry-after', ...ofSuccess]) {
    const known = Object.keys(described.headers ?? {}).some((header) => header.toLowerCase() === name);
    assert.ok(
      known || !answer.headers.has(name),
      `${method} ${path} ${answer.status} does not tell of ${name}`,
    );
  }
  if (described.content === undefined) {
    assert.equal(answer.text, '');
    return;
  }
  const { schema } = described.content[answer.headers.get('content-type') ?? ''];
  const check = ajv.compile(schema);
  assert.ok(
    check(JSON.parse(answer.text)),
    `${method} ${path}: ${answer.text} ${JSON.stringify(check.errors)}`,
  );
}

test('the document has the name of the specification', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/);
  assert.equal(document.info.title, 'Plant Store');
  assert.equal(document.info.version, '1.0.0');
  assert.equal(document.info.license.name, 'MIT');
  const { type, scheme } = document.components.securitySchemes.bearerAuth;
  assert.deepEqual({ type, scheme }, { type: 'http', scheme: 'bearer' });
  assert.deepEqual(document.security, [{ bearerAuth: [] }]);
});

test('the document has every operation, and each requires the bearer token with its scope', () => {
  const found = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  assert.deepEqual(found.sort(), operations.map(([method, path]) => `${method} ${path}`).sort());
  for (const [method, path, scope] of operations) {
    const { security, operationId, summary } = document.paths[path][method];
    assert.deepEqual(security ?? document.security, [{ bearerAuth: scope ? [scope] : [] }]);
    assert.ok(operationId && summary, `${method} ${path}`);
  }
});

test('the document has the webhook New Plant at /plant/webhook', () => {
  const { post } = document.webhooks['/plant/webhook'];
  assert.equal(post.summary, 'New Plant');
  const schema = resolved(post.requestBody.content['application/json'].schema);
  assert.deepEqual(Object.keys(schema.properties).sort(), ['id', 'name', 'tag']);
  assert.deepEqual([...schema.required].sort(), ['id', 'name']);
  const headers = post.parameters.map(({ name }: Json) => name);
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'ce-id', 'ce-type']) {
    assert.ok(headers.includes(name), name);
  }
  assert.deepEqual(Object.keys(post.responses).sort(), ['2XX', '410', '429', '503', 'default']);
});

test('every error code appears with its meaning', () => {
  const text: string = document.components.schemas.Error.properties.error.description;
  for (const [code, meaning] of Object.entries(catalogue)) {
    assert.ok(text.includes(code) && text.includes(meaning), code);
  }
  assert.deepEqual([...document.components.schemas.Error.required].sort(), ['error', 'message']);
});

test('every reference of the document resolves, and every component is referenced', () => {
  const used = new Set(references(document));
  for (const reference of used) referred(reference);
  const { securitySchemes, ...shared } = document.components;
  const all = Object.entries<Json>(shared).flatMap(([kind, parts]) =>
    Object.keys(parts).map((name) => `#/components/${kind}/${name}`),
  );
  assert.deepEqual(all.sort(), [...used].sort());
});

test('a pattern accepts emoji, in regular expressions of code points and of UTF-16 units', () => {
  const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)];
  assert.ok(patterns.length > 0);
  for (const [, text = ''] of patterns) {
    for (const flags of ['', 'u']) {
      for (const sprout of ['🌱', '🌱 sprout'])
        assert.match(sprout, new RegExp(JSON.parse(text), flags), text);
    }
    assert.doesNotMatch(text, /u(?:000[AD]|202[89])/i, 'generators write line breaks as such');
  }
});

test('each failure is described once', () => {
  for (const [method, path] of operations) {
    for (const [status, answer] of Object.entries<Json>(document.paths[path][method].responses)) {
      if (Number(status) >= 400)
        assert.deepEqual(Object.keys(answer), ['$ref'], `${method} ${path} ${status}`);
    }
  }
  const { responses } = document.components;
  const texts = Object.values<Json>(responses).map((response) => JSON.stringify(response));
  assert.equal(new Set(texts).size, texts.length);
});

test('the name of a component has only allowed characters', () => {
  for (const parts of Object.values<Json>(document.components)) {
    for (const name of Object.keys(parts)) assert.match(name, /^[\w.-]+$/);
  }
});

test('the document equals the one printed without a server, and is under 90 KB as it is sent', () => {
  const { servers, ...printed }: Json = openapiDocument();
  assert.deepEqual(servers, [{ url: '/' }]);
  assert.deepEqual(document, { ...printed, servers: document.servers });
  assert.ok(JSON.stringify(openapiDocument()).length < 90_000);
});

test('every schema of the document is valid JSON Schema', () => {
  const parameters = Object.values<Json>(document.paths)
    .flatMap((methods) => Object.values<Json>(methods))
    .flatMap((operation) => resolved(operation.parameters ?? []));
  assert.ok(parameters.length > 0);
  for (const schema of [
    ...Object.values<Json>(document.components.schemas),
    ...parameters.map((parameter) => parameter.schema),
  ]) {
    ajv.compile(resolved(schema));
  }
});

test('a list parameter is described as the service reads it', async () => {
  const parameters: Json[] = document.paths['/plants'].get.parameters;
  const fields = parameters.find(({ name }) => name === 'fields');
  // Generated clients repeat the parameter; people more often separate the fields by commas.
  assert.equal(fields.explode, true);
  for (const query of ['fields=id&fields=owner', 'fields=id,owner']) {
    conforms(await service.request('GET', `/plants?${query}`), 'get', '/plants');
  }
});

test("each operation's answers match the document", async () => {
  const plant = { name: 'Alder', id: 7, tag: 'Alnus' };
  conforms(await service.request('POST', '/plants', { body: plant }), 'post', '/plants');
  conforms(await service.request('POST', '/plants', { body: plant }), 'post', '/plants');
  conforms(await service.request('POST', '/plants', { body: { name: 'Untagged' } }), 'post', '/plants');
  conforms(await service.request('POST', '/plants', { body: {} }), 'post', '/plants');
  for (const query of [
    '',
    '?limit=1',
    '?limit=0',
    '?cursor=x',
    '?fields=name',
    '?fields=id,name,tag,owner',
    '?fields=tag',
  ]) {
    conforms(await service.request('GET', `/plants${query}`), 'get', '/plants');
  }
  for (const id of ['7', '7', 'x']) {
    conforms(await service.request('DELETE', `/plants/${id}`), 'delete', '/plants/{id}');
  }
});

test('the answers of webhook operations match the document', async () => {
  const ask = async (method: string, path: string, body?: unknown, target = path) => {
    const answer = await service.request(method.toUpperCase(), target, { body });
    conforms(answer, method, path);
    return answer;
  };
  const url = 'http://127.0.0.1:9/';
  const made = await ask('post', '/webhooks', { url, description: 'x', rate: 5 });
  await ask('post', '/webhooks', { url: 'http://10.0.0.1/' });
  const { id } = JSON.parse(made.text);
  const webhook = `/webhooks/${id}`;
  await ask('get', '/webhooks');

  succeeded(
    await service.request('POST', '/plants', { body: '{"name":"Alder","id":-9223372036854775808}' }),
    201,
  );
  const tested = await ask('post', '/webhooks/{id}/test', undefined, `${webhook}/test`);
  const delivery = tested.headers.get('location') ?? '';
  for (const query of ['', '?limit=1', '?limit=0', '?cursor=x', '?state=held', '?state=x']) {
    await ask('get', '/webhooks/{id}/deliveries', undefined, `${webhook}/deliveries${query}`);
    await ask('get', '/events', undefined, `/events${query.startsWith('?state') ? '' : query}`);
    await ask('get', '/deliveries', undefined, `/deliveries${query}`);
  }
  for (const query of ['', '?hours=1', '?hours=0', '?hours=x']) {
    await ask('get', '/activity', undefined, `/activity${query}`);
  }
  for (const target of [delivery, `${webhook}/deliveries/x`, '/webhooks/x/deliveries/x']) {
    await ask('get', '/webhooks/{id}/deliveries/{event}', undefined, target);
    await ask('post', '/webhooks/{id}/deliveries/{event}/redeliver', undefined, `${target}/redeliver`);
  }
  for (const body of [{ since: '2026-01-01T00:00:00Z' }, { since: 'x' }, {}]) {
    await ask('post', '/webhooks/{id}/replay', body, `${webhook}/replay`);
  }
  for (const body of [{}, { enabled: false, rate: null }, { url: 'http://10.0.0.1/' }, { url: null }]) {
    await ask('patch', '/webhooks/{id}', body, webhook);
  }
  for (let i = 0; i < 6; i++) {
    await ask('post', '/webhooks/{id}/rotate-secret', undefined, `${webhook}/rotate-secret`);
  }
  for (const path of ['/webhooks/{id}/test', '/webhooks/{id}/deliveries', '/webhooks/{id}/rotate-secret']) {
    await ask(path.endsWith('deliveries') ? 'get' : 'post', path, undefined, path.replace('{id}', 'x'));
  }
  for (const method of ['get', 'delete', 'delete', 'get'])
    await ask(method, '/webhooks/{id}', undefined, webhook);
});

test('what each operation of tokens answers is what the document says', async () => {
  const ask = async (method: string, path: string, body?: unknown, target = path) => {
    const answer = await service.request(method.toUpperCase(), target, { body });
    conforms(answer, method, path);
    return answer;
  };
  const made = await ask('post', '/tokens', { label: 'x', scopes: ['plants:read'], expiresIn: 60 });
  await ask('post', '/tokens', { scopes: [] });
  await ask('get', '/tokens');
  const target = `/tokens/${JSON.parse(made.text).id}`;
  for (const body of [{ overlap: 60 }, {}, { overlap: -1 }]) {
    await ask('post', '/tokens/{id}/rotate', body, `${target}/rotate`);
  }
  for (const path of [target, target]) await ask('delete', '/tokens/{id}', undefined, path);
  await ask('post', '/tokens/{id}/rotate', {}, `${target}/rotate`);
});

test('optional and required bodies differ in the document', () => {
  const optional = operations.flatMap(([method, path]) => {
    const body = document.paths[path][method].requestBody;
    return body === undefined || body.required ? [] : [path];
  });
  assert.deepEqual(optional.sort(), [
    '/tokens',
    '/tokens/{id}/rotate',
    '/webhooks/{id}/deliveries/{event}/redeliver',
    '/webhooks/{id}/rotate-secret',
    '/webhooks/{id}/test',
  ]);
});

test('the stream of events is described as server-sent events', async () => {
  const { responses, parameters } = document.paths['/events/stream'].get;
  assert.deepEqual(Object.keys(responses[200].content), ['text/event-stream']);
  assert.deepEqual(
    parameters.map(({ name, in: place }: Json) => `${place} ${name}`),
    ['header Last-Event-ID'],
  );
  const headers = { 'last-event-id': 'x' };
  conforms(await service.request('GET', '/events/stream', { headers }), 'get', '/events/stream');
});

test('the failures that every operation has are in the document', async () => {
  const powerless = await service.tokenFor('powerless', { scopes: [] });
  const late = await service.tokenFor('late', { expiresInMs: -1 });
  for (const [method, path] of operations) {
    const target = path.replace('{id}', '7').replace('{event}', '8');
    const verb = method.toUpperCase();
    for (const token of [null, 'unknown', late, powerless]) {
      conforms(await service.request(verb, target, { token }), method, path);
    }
    conforms(await service.request(verb, `${target}?unknown=1`), method, path);
    conforms(await service.request(verb, `${target}?x=${'x'.repeat(9000)}`), method, path);
    conforms(
      await service.request(verb, target, { headers: { 'x-large': 'x'.repeat(40_000) } }),
      method,
      path,
    );
    const line = `${verb} ${target}`;
    const fields = usual(service);
    const coded = head(`${line} HTTP/1.1`, ...fields, 'Transfer-Encoding: gzip, chunked') + chunk('');
    conforms(await exchange(service.port, coded), method, path);
    conforms(await exchange(service.port, head(`${line} HTTP/2.0`, ...fields)), method, path);
    conforms(await exchange(service.port, head(`${line} HTTP/1.1`, ...fields, 'Host: twice')), method, path);
    conforms(await exchange(service.port, head(`${line} HTTP/1.1`, ...fields, 'Expect: x')), method, path);
  }
});

test('the document names the rate limit on exactly the answers that carry it', async (t) => {
  const limited = await startService({ RATE_LIMIT: '1000/1m' });
  t.after(() => limited.stop());
  const post = (body: string, headers = {}) => limited.request('POST', '/plants', { body, headers });
  const raw = (line: string, ...more: string[]) =>
    exchange(limited.port, head(line, ...usual(limited), ...more));
  const answers = [
    await post('{"id":1,"name":"Alder"}', { 'idempotency-key': 'a' }),
    await post('{"id":2,"name":"Alder"}', { 'idempotency-key': 'a' }),
    await post('{"id":1,"name":"Alder"}'),
    await post('{'),
    await post(' '.repeat(70_000)),
    await post('{}', { 'content-type': 'text/plain' }),
    await limited.request('POST', '/plants', { body: '{}', token: 'unknown' }),
    await limited.request('POST', '/plants', {
      body: '{}',
      token: await limited.tokenFor('b', { scopes: [] }),
    }),
    await limited.request('POST', `/plants?x=${'x'.repeat(9000)}`),
    await post('{}', { 'x-large': 'x'.repeat(40_000) }),
    await raw('POST /plants HTTP/1.1', 'Expect: x'),
    await raw('POST /plants HTTP/2.0'),
    await exchange(
      limited.port,
      head('POST /plants HTTP/1.1', ...usual(limited), 'Transfer-Encoding: gzip, chunked') + chunk(''),
    ),
  ];
  const told = document.paths['/plants'].post.responses;
  const isTold = ({ status }: Answer) => Object.hasOwn(resolved(told[status]).headers, 'RateLimit');
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(statuses, [201, 422, 409, 400, 413, 415, 401, 403, 414, 431, 417, 505, 501]);
  assert.deepEqual(
    answers.map(isTold),
    answers.map(({ headers }) => headers.has('ratelimit')),
  );
});

test('the failures of a body are in the document', async () => {
  for (const [method, path] of operations) {
    if (document.paths[path][method].requestBody === undefined) continue;
    const target = path.replace('{id}', '7').replace('{event}', '8');
    const send = async (body: string, headers = {}) =>
      conforms(await service.request(method.toUpperCase(), target, { body, headers }), method, path);
    for (const body of ['{', '[]', '{"x":1}', ' '.repeat(70_000)]) await send(body);
    await send('{}', { 'content-type': 'text/plain' });
    await send('{}', { 'content-encoding': 'gzip' });
  }
});
