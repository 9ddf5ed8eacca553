import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { openUnfinishedStore } from '../../../src/store/sqlite/engine/unfinished-stores.ts';

test('a folder that cannot be removed does not hide why its store was not finished', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.throws(() => {
    using unfinished = openUnfinishedStore(join(folder, 'unfinished-'));
    const own = dirname(unfinished.path);
    rmSync(own, { recursive: true });
    // No folder, and so without names to remove.
    writeFileSync(own, '');
    throw new Error('the disk is full');
  }, /^Error: the disk is full$/);
});

test('a link that another user puts in the place of a folder leads nobody to remove files elsewhere', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const elsewhere = join(folder, 'elsewhere');
  mkdirSync(elsewhere);
  for (const name of ['passwd', 'shadow']) writeFileSync(join(elsewhere, name), '');
  const unfinished = openUnfinishedStore(join(folder, 'unfinished-'));
  const own = dirname(unfinished.path);
  renameSync(own, `${own}-away`);
  symlinkSync(elsewhere, own);
  unfinished[Symbol.dispose]();
  assert.deepEqual(readdirSync(elsewhere), ['passwd', 'shadow']);
  assert.ok(!readdirSync(folder).includes(basename(own)));
});
