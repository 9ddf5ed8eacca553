import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { failed, succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';
import { exchange } from '../../testkit/sockets/raw-client.ts';
import { head } from '../../testkit/sockets/raw-request.ts';

const service = await startService();
after(() => service.stop());

const page = (path: string) => service.request('GET', path, { token: null });

test('health and readiness need no token', async () => {
  succeeded(await page('/healthz'), 200);
  succeeded(await page('/readyz'), 200);
  for (const path of ['/healthz', '/readyz']) {
    const answer = await service.request('HEAD', path, { token: null });
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '');
  }
});

test('metrics are not served on the API’s port', async () => {
  failed(await page('/metrics'), 40400);
});

test('the front page redirects a browser', async () => {
  const answer = await page('/');
  assert.equal(answer.status, 302);
  assert.equal(answer.headers.get('location'), '/console');
  const console = await page('/console');
  assert.equal(console.headers.get('location'), '/console/');
  const next = await page('/console/');
  assert.equal(next.status, 200);
  assert.match(next.headers.get('content-type') ?? '', /^text\/html/);
});

test('console and documentation load under a policy without anything inline, from this service only', async () => {
  for (const path of ['/console/', '/docs/', '/docs/tutorial', '/docs/how-to/tokens.html', '/docs/api/']) {
    const answer = await page(path);
    assert.equal(answer.status, 200, path);
    const policy = answer.headers.get('content-security-policy') ?? '';
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      assert.ok(policy.split('; ').includes(rule), `${path}: ${rule}`);
    }
    assert.doesNotMatch(policy, /https?:|\*|unsafe/);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(answer.headers.get('cache-control'), 'no-cache');
    assert.doesNotMatch(answer.text, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+\s*=\s*"/, path);
    // Relative, so that a proxy may serve the service under any path.
    assert.doesNotMatch(answer.text, /(?:src|href)="\//, path);
  }
});

test('a documentation file with a hash in its name may be cached forever, and is sent compressed', async () => {
  const { text } = await page('/docs/');
  const [, script = ''] = /<script src="([^"]+)"/.exec(text) ?? [];
  const answer = await fetch(`${service.url}/docs/${script}`, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('cache-control') ?? '', /immutable/);
  assert.equal(answer.headers.get('content-encoding'), 'gzip');
  assert.match(await answer.text(), /navigator\.clipboard/);
});

test('the documentation starts at /docs, its API at /docs/api, and a missing page is not a fault', async () => {
  for (const path of ['/docs', '/docs/api']) {
    const answer = await page(path);
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.get('location'), `${path}/`);
  }
  for (const path of [
    '/docs/none.html',
    '/docs/how-to',
    '/docs/how-to/',
    '/docs/../package.json',
    '/docs/%2e%2e/x',
  ]) {
    failed(await exchange(service.port, head(`GET ${path} HTTP/1.1`, 'Host: x')), 40400);
  }
});

test('no file outside of the reference is served, and no file name causes a fault', async () => {
  const outside = [
    '../package.json',
    '%2e%2e/%2e%2e/package.json',
    '..%2f..%2fpackage.json',
    '..%5cpackage.json',
  ];
  const odd = [
    '/etc/passwd',
    'nothing.js',
    '.',
    '..',
    '%00',
    '.%00./x',
    'a%2f',
    'index.html/x',
    'x'.repeat(5000),
  ];
  for (const name of [...outside, ...odd]) {
    failed(await exchange(service.port, head(`GET /docs/api/${name} HTTP/1.1`, 'Host: x')), 40400);
  }
});

test('conditions and ranges of a request for a file cause no fault', async () => {
  const conditions = [
    'If-Match: "x"',
    'If-None-Match: *',
    'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT',
  ];
  for (const field of [
    ...conditions,
    'Range: bytes=0-1',
    'Range: bytes=9-1',
    'Range: bytes=99999999-',
    'Range: x',
  ]) {
    const answer = await exchange(service.port, head('GET /docs/api/index.html HTTP/1.1', 'Host: x', field));
    assert.ok(answer.status < 500, `${field}: ${answer.text}`);
    if (answer.status >= 400) failed(answer, JSON.parse(answer.text).error);
  }
});

test('the pages report their methods', async () => {
  for (const path of [
    '/',
    '/console',
    '/console/',
    '/docs',
    '/docs/',
    '/docs/api',
    '/docs/api/',
    '/docs/tutorial',
    '/docs/how-to/tokens.html',
    '/%64ocs/tutorial',
    '/console/plants',
    '/openapi.json',
    '/healthz',
    '/readyz',
  ]) {
    const options = await service.request('OPTIONS', path, { token: null });
    succeeded(options, 204);
    assert.equal(options.headers.get('allow'), 'GET, HEAD, OPTIONS', path);
    failed(await service.request('POST', path, { token: null, body: {} }), 40500);
  }
  for (const method of ['OPTIONS', 'POST']) {
    for (const path of [
      '/docs/../plants',
      '/docs/%2e%2e/plants',
      '/docs/.',
      '/docs%2ftutorial',
      '/consoles/x',
    ])
      failed(await exchange(service.port, head(`${method} ${path} HTTP/1.1`, 'Host: x')), 40400);
  }
});
