import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { startService } from '../../testkit/service/service.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

const PUBLIC_URL = 'https://plants.example/a/b';
const port = await freePort();
const service = await startService({
  PORT: String(port),
  PUBLIC_URL: `${PUBLIC_URL}/`,
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
});
after(() => service.stop());
const receiver = await startReceiver();
after(() => receiver.stop());

/** As a proxy asks that serves the service under a path, which it removes. */
function ask(method: string, path: string, body?: object, fields: Record<string, string> = {}) {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json', ...fields },
    body: body ? JSON.stringify(body) : null,
    redirect: 'manual',
  });
}

test('every address in an answer begins with the path of the public URL', async () => {
  const hook = await ask('POST', '/webhooks', { url: receiver.url });
  const id = /^\/a\/b\/webhooks\/(wh_\w+)$/.exec(hook.headers.get('location') ?? '')?.[1];
  assert.ok(id);
  const key = { 'idempotency-key': 'once' };
  for (const body of [
    { id: 7, name: 'Alder' },
    { id: 7, name: 'Alder' },
  ]) {
    assert.equal((await ask('POST', '/plants', body, key)).headers.get('location'), '/a/b/plants/7');
  }
  const assigned = await ask('POST', '/plants', { name: 'Birch' });
  assert.match(assigned.headers.get('location') ?? '', /^\/a\/b\/plants\/\d+$/);
  const sent = await ask('POST', `/webhooks/${id}/test`);
  assert.match(sent.headers.get('location') ?? '', /^\/a\/b\/webhooks\/wh_\w+\/deliveries\/evt_\w+$/);
  for (const path of ['/plants', '/deliveries', `/webhooks/${id}/deliveries`]) {
    const { headers } = await ask('GET', `${path}?limit=1`);
    assert.ok(headers.get('link')?.startsWith(`</a/b${path}?`), `${path}: ${headers.get('link')}`);
  }
  assert.equal((await ask('GET', '/')).headers.get('location'), '/a/b/console');
});

test('the OpenAPI document and webhooks name the public URL', async () => {
  const document: unknown = await (await ask('GET', '/openapi.json')).json();
  assert.partialDeepStrictEqual(document, { servers: [{ url: PUBLIC_URL }] });
  const [first] = await receiver.receive(1);
  assert.equal(first?.headers['ce-source'], PUBLIC_URL);
});
