import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { catalogue } from '../../src/errors.ts';
import { type Answer, succeeded } from '../harness/answer.ts';
import { exchange } from '../harness/raw-client.ts';
import { chunk, head, usual } from '../harness/raw-request.ts';
import { startService } from '../harness/service.ts';

const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
after(() => service.stop());

/** JSON of which a test says itself what it expects in it; a wrong expectation fails the test. */
// biome-ignore lint/suspicious/noExplicitAny: the document is walked freely, and every step is asserted
type Json = any;

const document: Json = succeeded(await service.request('GET', '/openapi.json', { token: null }), 200);

const operations = [
  ['post', '/plants', 'plants:write'],
  ['get', '/plants', 'plants:read'],
  ['delete', '/plants/{id}', 'plants:write'],
  ['post', '/webhooks', 'webhooks:write'],
  ['get', '/webhooks', 'webhooks:read'],
  ['delete', '/webhooks/{id}', 'webhooks:write'],
] as const;

/** JSON Schema 2020-12, which OpenAPI 3.1 is built on. Refuses keywords and formats that it does not know. */
const ajv = new Ajv2020({
  strict: true,
  formats: { int64: true, 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/ },
});

/** A schema of the document with what it refers to in place. */
function resolved(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(resolved);
  if (typeof schema !== 'object' || schema === null) return schema;
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.replace('#/components/schemas/', '');
    assert.ok(name in document.components.schemas, schema.$ref);
    return resolved(document.components.schemas[name]);
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolved(value)]));
}

/** That the document describes this answer of the operation: status, type, headers and body. */
function conforms(answer: Answer, method: string, path: string): void {
  const described = document.paths[path][method].responses[answer.status];
  assert.ok(described !== undefined, `${method} ${path} has no ${answer.status}: ${answer.text}`);
  for (const name of ['location', 'link', 'www-authenticate']) {
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
  const check = ajv.compile(resolved(schema));
  assert.ok(
    check(JSON.parse(answer.text)),
    `${method} ${path}: ${answer.text} ${JSON.stringify(check.errors)}`,
  );
}

test('the document is what the specification calls it', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/);
  assert.equal(document.info.title, 'Plant Store');
  assert.equal(document.info.version, '1.0.0');
  assert.equal(document.info.license.name, 'MIT');
  const { type, scheme } = document.components.securitySchemes.bearerAuth;
  assert.deepEqual({ type, scheme }, { type: 'http', scheme: 'bearer' });
  assert.deepEqual(document.security, [{ bearerAuth: [] }]);
});

test('the document has every operation, and each asks for the bearer token', () => {
  const found = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  assert.deepEqual(found.sort(), operations.map(([method, path]) => `${method} ${path}`).sort());
  for (const [method, path] of operations) {
    const { security, operationId, summary } = document.paths[path][method];
    assert.deepEqual(security ?? document.security, [{ bearerAuth: [] }]);
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
});

test('every error code appears with its meaning', () => {
  const text: string = document.components.schemas.Error.properties.error.description;
  for (const [code, meaning] of Object.entries(catalogue)) {
    assert.ok(text.includes(code) && text.includes(meaning), code);
  }
  assert.deepEqual([...document.components.schemas.Error.required].sort(), ['error', 'message']);
});

test('everything that the document refers to is in it', () => {
  assert.ok(resolved(document.paths) && resolved(document.webhooks) && resolved(document.components));
});

test('every schema of the document keeps to JSON Schema', () => {
  const parameters = Object.values<Json>(document.paths)
    .flatMap((methods) => Object.values<Json>(methods))
    .flatMap((operation) => operation.parameters ?? []);
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
  // Without this a generated client sends fields=id&fields=name, which is a repeated parameter.
  assert.equal(fields.explode, false);
  const answer = await service.request('GET', '/plants?fields=id,owner');
  conforms(answer, 'get', '/plants');
});

test('what each operation answers is what the document says', async () => {
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

  const made = await service.request('POST', '/webhooks', {
    body: { url: 'http://127.0.0.1:9/', description: 'x' },
  });
  conforms(made, 'post', '/webhooks');
  conforms(
    await service.request('POST', '/webhooks', { body: { url: 'http://127.0.0.1:9/' } }),
    'post',
    '/webhooks',
  );
  conforms(
    await service.request('POST', '/webhooks', { body: { url: 'http://10.0.0.1/' } }),
    'post',
    '/webhooks',
  );
  conforms(await service.request('GET', '/webhooks'), 'get', '/webhooks');
  const { id } = JSON.parse(made.text);
  for (const name of [id, id]) {
    conforms(await service.request('DELETE', `/webhooks/${name}`), 'delete', '/webhooks/{id}');
  }
});

test('the failures that every operation has are in the document', async () => {
  const powerless = await service.tokenFor('powerless', { scopes: [] });
  const late = await service.tokenFor('late', { expiresInMs: -1 });
  for (const [method, path] of operations) {
    const target = path.replace('{id}', '7');
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

test('the failures of a body are in the document', async () => {
  for (const path of ['/plants', '/webhooks']) {
    for (const body of ['{', '[]', '{"x":1}', ' '.repeat(70_000)]) {
      conforms(await service.request('POST', path, { body }), 'post', path);
    }
    const body = '{}';
    conforms(
      await service.request('POST', path, { body, headers: { 'content-type': 'text/plain' } }),
      'post',
      path,
    );
    conforms(
      await service.request('POST', path, { body, headers: { 'content-encoding': 'gzip' } }),
      'post',
      path,
    );
  }
});
