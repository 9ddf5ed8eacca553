import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { observability as limits } from '../../src/limits.ts';
import { createGauges, readRarely } from '../../src/observability/gauges.ts';
import type { WebhooksReading } from '../../src/observability/port.ts';
import { firstId, silentLog } from '../../src/runtime.ts';

const NOTHING_ELSE = { connections: async () => 0, sending: () => undefined };

/** Time that passes only when the test says so. */
function steered(t: TestContext) {
  const time = { now: 0 };
  t.mock.method(performance, 'now', () => time.now);
  return time;
}

test('costly values are read on request only, and again only after a while', async (t) => {
  const time = steered(t);
  let reads = 0;
  const latest = readRarely(async () => ++reads, assert.ifError);
  assert.equal(reads, 0);
  assert.deepEqual(await Promise.all([latest(), latest()]), Array(2).fill({ value: 1, at: 0 }));
  time.now = limits.readEveryMs - 1;
  assert.deepEqual(await latest(), { value: 1, at: 0 });
  time.now = limits.readEveryMs;
  assert.deepEqual(await latest(), { value: 2, at: limits.readEveryMs });
});

test('slow readings are repeated less often', async (t) => {
  const time = steered(t);
  let reads = 0;
  const latest = readRarely(async () => {
    time.now += limits.readEveryMs;
    return ++reads;
  }, assert.ifError);
  await latest();
  time.now += 18 * limits.readEveryMs;
  assert.equal((await latest())?.value, 1);
  time.now += limits.readEveryMs;
  assert.equal((await latest())?.value, 2);
});

test('a failed reading keeps the last value with its age, and only the first of several failures is reported', async (t) => {
  const time = steered(t);
  const told: unknown[] = [];
  let fails = false;
  const latest = readRarely(
    async () => {
      if (fails) throw new Error('no');
      return 1;
    },
    (error) => void told.push(error),
  );
  await latest();
  fails = true;
  time.now = limits.readEveryMs;
  assert.deepEqual(await latest(), { value: 1, at: 0 });
  time.now = 2 * limits.readEveryMs;
  assert.deepEqual(await latest(), { value: 1, at: 0 });
  assert.equal(told.length, 1);
});

test('a scrape does not wait for a reading that hangs', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const hanging = readRarely(() => new Promise<number>(() => {}), assert.ifError)();
  t.mock.timers.tick(limits.readMs);
  assert.equal(await hanging, undefined);
});

test('ages are as of the reading, and 0 when nothing waits', async () => {
  const reading: WebhooksReading = {
    enabled: 2,
    paused: 1,
    disabled: 0,
    oldestPending: firstId('evt', 40_000),
    oldestHeld: undefined,
    dueSince: 99_000,
  };
  const gauges = createGauges(
    {
      store: {
        kind: 'sqlite',
        queues: () => [{ queue: 'writes', commands: 3, ageMs: 1500 }],
        size: async () => ({ bytes: 7, freeBytes: undefined }),
        webhooks: async () => reading,
      },
      ...NOTHING_ELSE,
    },
    { clock: { now: () => 100_000 }, log: silentLog, version: '1.2.3' },
  );
  assert.deepEqual(await gauges.oldestWaiting(), [
    { labels: { state: 'pending' }, value: 60 },
    { labels: { state: 'held' }, value: 0 },
  ]);
  assert.deepEqual(await gauges.overdue(), [{ labels: {}, value: 1 }]);
  assert.deepEqual(await gauges.queueAge(), [{ labels: { queue: 'writes' }, value: 1.5 }]);
  assert.deepEqual(await gauges.storeFree(), []);
  assert.deepEqual(await gauges.lanes(), [], 'a replica that sends nothing has no lanes');
});

test('a store that was never readable still has an age, and an outdated size is not reported', async (t) => {
  const time = steered(t);
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) };
  let fails = false;
  const gauges = createGauges(
    {
      store: {
        kind: 'postgres',
        queues: () => [],
        async size() {
          if (fails) throw new Error('no');
          return { bytes: 7, freeBytes: 8 };
        },
        webhooks: () => Promise.reject(new Error('no')),
      },
      ...NOTHING_ELSE,
    },
    { clock: { now: () => 0 }, log, version: '1.2.3' },
  );
  assert.deepEqual(await gauges.storeSize(), [{ labels: {}, value: 7 }]);
  fails = true;
  time.now = limits.staleSizeMs;
  assert.deepEqual(await gauges.readingAge(), [{ labels: {}, value: limits.staleSizeMs / 1000 }]);
  assert.deepEqual(await gauges.storeFree(), [{ labels: {}, value: 8 }]);
  time.now += 1;
  assert.deepEqual([await gauges.storeSize(), await gauges.storeFree()], [[], []]);
  assert.deepEqual(warnings, [
    'could not read the state of the webhooks',
    'could not read the size of the store',
  ]);
});
