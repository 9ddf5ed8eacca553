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

test('the reference loads under a strict policy, from this service only', async () => {
  const answer = await page('/docs/api/');
  assert.equal(answer.status, 200);
  const policy = answer.headers.get('content-security-policy') ?? '';
  const directives = new Map(
    policy.split(';').map((directive) => {
      const [name = '', ...sources] = directive.trim().split(/\s+/);
      return [name, sources];
    }),
  );
  assert.deepEqual(directives.get('default-src'), ["'none'"]);
  assert.deepEqual(directives.get('script-src'), ["'self'"]);
  assert.deepEqual(directives.get('connect-src'), ["'self'"]);
  assert.deepEqual(directives.get('frame-ancestors'), ["'none'"]);
  assert.ok(!directives.has('upgrade-insecure-requests'), 'the page is served over plain http too');
  assert.doesNotMatch(policy, /https?:|\*|unsafe-eval/);
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');

  const html = answer.text;
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)/, 'an inline script would not run');
  assert.doesNotMatch(html, /\son[a-z]+\s*=/, 'an inline handler would not run');
  assert.doesNotMatch(html, /(?:src|href)="(?:https?:)?\/\//, 'another host would not be reached');
});

test('console and documentation load under a policy without anything inline, from this service only', async () => {
  for (const path of ['/console/', '/docs/', '/docs/tutorial.html', '/docs/how-to/tokens.html']) {
    const answer = await page(path);
    assert.equal(answer.status, 200, path);
    const policy = answer.headers.get('content-security-policy') ?? '';
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
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
  assert.match(await answer.text(), /^\/\/ What the pages of the documentation do/);
});

test('the documentation starts at /docs, and a missing page is not a fault', async () => {
  const answer = await page('/docs');
  assert.equal(answer.status, 302);
  assert.equal(answer.headers.get('location'), '/docs/');
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

test('everything that the reference loads exists', async () => {
  assert.equal((await page('/docs/api')).headers.get('location'), '/docs/api/');
  const { text } = await page('/docs/api/');
  const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
  assert.ok(links.length > 4);
  for (const link of [...links, '../../openapi.json']) {
    const { pathname } = new URL(link, `${service.url}/docs/api/`);
    assert.equal((await page(pathname)).status, 200, pathname);
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
    'page.css/x',
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
    const answer = await exchange(service.port, head('GET /docs/api/page.css HTTP/1.1', 'Host: x', field));
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
    '/openapi.json',
    '/healthz',
    '/readyz',
  ]) {
    const options = await service.request('OPTIONS', path, { token: null });
    succeeded(options, 204);
    assert.equal(options.headers.get('allow'), 'GET, HEAD, OPTIONS', path);
    failed(await service.request('POST', path, { token: null, body: {} }), 40500);
  }
});
