import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startService } from '../../testkit/service/service.ts';

const built = join(import.meta.dirname, '..', '..', 'build', 'console');
const KIB = 1024;

test('the first load of the console is less than 60 KiB of gzipped script', () => {
  const page = readFileSync(join(built, 'index.html'), 'utf8');
  const scripts = [...page.matchAll(/(?:src|href)="\.\/([^"]+\.js)"/g)].map(([, file = '']) => file);
  assert.ok(scripts.length > 0);
  const sizes = scripts.map((file) => gzipSync(readFileSync(join(built, file)), { level: 9 }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total < 60 * KIB, `${(total / KIB).toFixed(1)} KiB`);
});

test('files of the console are compressed when they are built, not when requested', async () => {
  const service = await startService();
  try {
    const { text } = await service.request('GET', '/console/', { token: null });
    const [, script = ''] = /src="\.\/([^"]+\.js)"/.exec(text) ?? [];
    for (const encoding of ['br', 'gzip']) {
      const headers = { 'accept-encoding': encoding };
      const answer = await service.request('GET', `/console/${script}`, { token: null, headers });
      assert.equal(answer.headers.get('content-encoding'), encoding);
      assert.match(answer.headers.get('cache-control') ?? '', /immutable/);
    }
  } finally {
    await service.stop();
  }
});
