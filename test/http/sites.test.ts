import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import Fastify from 'fastify';
import { serveSite } from '../../src/http/pages/sites.ts';

const folder = await mkdtemp(join(tmpdir(), 'plant-store-site-'));
await mkdir(join(folder, 'assets'));
await writeFile(join(folder, 'index.html'), 'first');
await writeFile(join(folder, 'page.html'), 'second');
await writeFile(join(folder, 'page.html.gz'), gzipSync('second'));
await writeFile(join(folder, 'assets', 'a-1.js'), 'let a;');
await writeFile(join(folder, 'assets', 'a-1.js.gz'), gzipSync('let a;'));
await writeFile(join(folder, '.secret'), 'hidden');
const app = Fastify();
await serveSite(app, { path: '/site', folder }, '/base');
await serveSite(app, { path: '/none', folder: join(folder, 'none') }, '');
after(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

const get = (url: string, headers = {}) => app.inject({ url, headers });

test('the path of a site redirects to its first page, below the base path', async () => {
  const { statusCode, headers } = await get('/site');
  assert.deepEqual([statusCode, headers.location], [302, '/base/site/']);
});

test('a page is revalidated each time, and a file with a hash in its name never', async () => {
  const page = await get('/site/');
  assert.deepEqual([page.body, page.headers['cache-control']], ['first', 'no-cache']);
  assert.match(String(page.headers['content-security-policy']), /^default-src 'none';/);
  const asset = await get('/site/assets/a-1.js');
  assert.match(String(asset.headers['cache-control']), /immutable/);
});

test('a client that accepts compressed files gets those compressed at build time', async () => {
  const { headers } = await get('/site/assets/a-1.js', { 'accept-encoding': 'gzip' });
  assert.equal(headers['content-encoding'], 'gzip');
  assert.match(String(headers['content-type']), /javascript/);
  assert.match(String(headers['cache-control']), /immutable/);
});

test('a client that refuses an encoding by its weight gets the file as it is', async () => {
  for (const accepted of ['gzip;q=0', 'br, gzip; q=0.000', 'deflate', '']) {
    const { body, headers } = await get('/site/assets/a-1.js', { 'accept-encoding': accepted });
    assert.deepEqual(
      [body, headers['content-encoding'], headers.vary],
      ['let a;', undefined, 'accept-encoding'],
    );
  }
});

test('a file that has not changed is not sent again', async () => {
  for (const accepted of ['gzip', 'identity']) {
    const first = await get('/site/assets/a-1.js', { 'accept-encoding': accepted });
    const conditions = { 'accept-encoding': accepted, 'if-none-match': first.headers.etag };
    const again = await get('/site/assets/a-1.js', conditions);
    assert.deepEqual([again.statusCode, again.body, again.headers.etag], [304, '', first.headers.etag]);
  }
});

test('a page is found without its ending, too', async () => {
  for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
    const page = await get('/site/page', headers);
    assert.deepEqual([page.statusCode, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
  }
  assert.equal(
    (await get('/site/page.html', { 'accept-encoding': 'gzip' })).headers['content-encoding'],
    'gzip',
  );
});

test('a site that is rebuilt while the service runs is served in its new version', async () => {
  await writeFile(join(folder, 'assets', 'b-2.js'), 'let b;');
  assert.equal((await get('/site/assets/b-2.js')).body, 'let b;');
  await rm(join(folder, 'assets', 'b-2.js'));
  assert.equal((await get('/site/assets/b-2.js')).statusCode, 404);
});

test('anything but a file of the site is not found', async () => {
  for (const path of [
    'x',
    'assets',
    'assets/',
    '.secret',
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e/x',
    'a%00b',
    'index.html/x',
  ]) {
    assert.equal((await get(`/site/${path}`)).statusCode, 404, path);
  }
});

test('a site that was not built says so', async () => {
  const { statusCode, body } = await get('/none/');
  assert.equal(statusCode, 404);
  assert.match(body, /npm run prepare/);
});
