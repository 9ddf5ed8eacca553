import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { storePath } from '../../../src/config/config.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { beside, startService } from '../../../testkit/service/service.ts';

test('a store migrated from the form with a checksum seals its cursors and refuses those of that form', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'plant-store-cursors-'));
  await beside(dataDir, async () => {});
  const db = new DatabaseSync(storePath(dataDir));
  // The migration writes the time of the update, here one in the future.
  db.exec(`UPDATE cursor_key SET old_until = ${Date.now() + 60_000}`);
  const key = db.prepare(`SELECT value FROM meta WHERE name = 'key'`).get()?.value;
  db.close();

  const service = await startService({ DATABASE_URL: undefined, DATA_DIR: dataDir });
  t.after(async () => {
    await service.stop();
    await rm(dataDir, { recursive: true });
  });
  for (const name of ['Alder', 'Beech']) await service.request('POST', '/plants', { body: { name } });
  const page = await service.request('GET', '/plants?limit=1');
  succeeded(page, 200);
  const cursor = /cursor=([^&>]+)/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
  const [, position = '', seal] = /^(\d+\.\d+)\.([\w-]{22})$/.exec(cursor) ?? [];
  assert.ok(seal, cursor);
  const user = position.split('.')[0];
  for (const [path, list] of [
    ['/plants', 'plants'],
    ['/events', 'events'],
  ]) {
    const forged = `${position}.${crc32(`${list} ${key}.${user}.${position}`)}`;
    failed(await service.request('GET', `${path}?limit=1&cursor=${forged}`), 40007);
  }
});
