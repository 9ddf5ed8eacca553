import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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
