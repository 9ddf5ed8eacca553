import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { storePath } from '../../src/config/config.ts';
import { WITHOUT_CAPABILITIES, whyNoPermissions } from '../../testkit/processes/permissions.ts';
import { makePlace } from '../../testkit/processes/place.ts';
import type { Outcome } from '../../testkit/processes/program.ts';

function failedInOneLine({ code, stdout, stderr }: Outcome, message: RegExp): void {
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^error: [^\n]+\n$/);
  assert.match(stderr, message);
}

test('a store of a newer version is refused in one line and left unchanged', async (t) => {
  const place = await makePlace(t);
  await place.prepare();
  place.write(`INSERT INTO migrations SELECT max(version) + 1, '9999_later.sql', 'x', 0 FROM migrations`);
  const before = await hashOf(storePath(place.dataDir));
  failedInOneLine(await place.serveInVain(), /newer version of plant-store/);
  assert.equal(await hashOf(storePath(place.dataDir)), before);
});

test('a file that is not a database is refused in one line and left unchanged', async (t) => {
  const place = await makePlace(t);
  await mkdir(place.dataDir);
  const text = 'A letter that somebody keeps under this name.\n'.repeat(200);
  await writeFile(storePath(place.dataDir), text);
  failedInOneLine(await place.serveInVain(), /not a database/);
  assert.equal(await readFile(storePath(place.dataDir), 'utf8'), text);
});

test('a data folder that is a file is refused in one line that names it', async (t) => {
  const place = await makePlace(t);
  await writeFile(place.dataDir, '');
  const outcome = await place.serveInVain();
  failedInOneLine(outcome, /data folder/);
  assert.ok(outcome.stderr.includes(place.dataDir));
});

test('an unwritable data folder is refused in one line that names it', {
  skip: whyNoPermissions,
}, async (t) => {
  const place = await makePlace(t);
  await mkdir(place.dataDir);
  await chmod(place.dataDir, 0o500);
  const outcome = await place.serveInVain({ through: WITHOUT_CAPABILITIES });
  failedInOneLine(outcome, /cannot be/);
  assert.ok(outcome.stderr.includes(place.dataDir));
});

test('data folder and store are readable by their owner only, whatever the umask', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve({ through: ['sh', '-c', 'umask 0; exec "$@"', 'sh'] });
  await server.request('POST', '/plants', { body: { name: 'Alder' } });
  assert.equal(await modeOf(place.dataDir), 0o700);
  const files = await readdir(place.dataDir);
  for (const name of ['plant-store.db', 'plant-store.db-wal', 'plant-store.db-shm', 'serving.lock']) {
    assert.ok(files.includes(name), `${name} out of ${files}`);
  }
  for (const name of files) {
    assert.equal((await modeOf(join(place.dataDir, name))).toString(8), '600', name);
  }
});

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

async function hashOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
