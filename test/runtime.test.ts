import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createIds, steadyClock, threadEnvironment } from '../src/runtime.ts';

const FORM = /^evt_[0-9a-hjkmnp-tv-z]{26}$/;

function idsAt(times: number[]) {
  return createIds({ now: () => times.shift() ?? 0 }, randomBytes);
}

test('an id is its kind and a ULID in lower case', () => {
  const ids = idsAt([1_469_918_176_385]);
  const id = ids.next('evt');
  assert.match(id, FORM);
  // The example of the ULID specification.
  assert.equal(id.slice(4, 14), '01aryz6s41');
});

test('each id is greater than every one before it, even within a millisecond and when the clock goes back', () => {
  const ids = idsAt([5000, 5000, 5000, 6000, 1000, 6000, 7000, 0]);
  const made = Array.from({ length: 8 }, () => ids.next('evt'));
  assert.deepEqual(made, made.toSorted());
  assert.equal(new Set(made).size, 8);
});

test('ids continue after the newest stored one when the clock has been set back since', () => {
  const stored = idsAt([9_000_000]).next('evt');
  const ids = idsAt([1000, 2000]);
  ids.startAfter(stored);
  assert.ok(ids.next('evt') > stored);
  assert.ok(ids.next('evt') > stored);
});

test('ids follow the clock when the newest stored one is older', () => {
  const ids = idsAt([9_000_000, 9_000_001]);
  const first = ids.next('evt');
  ids.startAfter(idsAt([1000]).next('evt'));
  assert.ok(ids.next('evt') > first);
});

test('an id that would count past its random part takes the next millisecond', () => {
  const ids = createIds({ now: () => 1000 }, (size) => Buffer.alloc(size, 0xff));
  const [first, second] = [ids.next('evt'), ids.next('evt')];
  assert.ok(second > first);
  assert.match(second, FORM);
});

test('a steady clock continues when the system clock is set back, and follows it when that is set forward', () => {
  let wall = 1_000_000;
  const clock = steadyClock({ now: () => wall });
  const before = clock.now();
  assert.ok(before >= 1_000_000 && before < 1_001_000);
  wall = 2_000_000;
  assert.equal(clock.now(), 2_000_000);
  wall = 500_000;
  const after = clock.now();
  assert.ok(after >= 2_000_000 && after < 2_001_000);
  assert.ok(clock.now() >= after);
});

test('threads share the compile cache of their process', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-cache-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // Unless there is one already.
  enableCompileCache(folder);
  const text = `
    const { parentPort } = require('node:worker_threads');
    parentPort.postMessage(require('node:module').getCompileCacheDir());
  `;
  const [cache] = await once(new Worker(text, { eval: true, env: threadEnvironment() }), 'message');
  assert.equal(cache, getCompileCacheDir());
});
