import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { observability as limits } from '../../src/limits.ts';
import type { WebhooksReading } from '../../src/measures.ts';
import { createGauges } from '../../src/observability/gauges.ts';
import { seldom } from '../../src/observability/seldom.ts';
import { firstId } from '../../src/runtime.ts';

/** A time that passes only when it is told to. */
function steered(t: TestContext) {
  const time = { now: 0 };
  t.mock.method(performance, 'now', () => time.now);
  return time;
}

test('what is not cheap is read only when somebody asks, and again only after a while', async (t) => {
  const time = steered(t);
  let reads = 0;
  const latest = seldom(async () => ++reads);
  assert.equal(reads, 0);
  assert.deepEqual(await Promise.all([latest(), latest()]), Array(2).fill({ value: 1, at: 0 }));
  time.now = limits.readEveryMs - 1;
  assert.deepEqual(await latest(), { value: 1, at: 0 });
  time.now = limits.readEveryMs;
  assert.deepEqual(await latest(), { value: 2, at: limits.readEveryMs });
});

test('what takes long is read so much more seldom', async (t) => {
  const time = steered(t);
  let reads = 0;
  const latest = seldom(async () => {
    time.now += limits.readEveryMs;
    return ++reads;
  });
  await latest();
  time.now += 18 * limits.readEveryMs;
  assert.equal((await latest())?.value, 1);
  time.now += limits.readEveryMs;
  assert.equal((await latest())?.value, 2);
});

test('a reading that fails leaves what was known, with its age', async (t) => {
  const time = steered(t);
  let fails = false;
  const latest = seldom(async () => {
    if (fails) throw new Error('no');
    return 1;
  });
  await latest();
  fails = true;
  time.now = limits.readEveryMs;
  assert.deepEqual(await latest(), { value: 1, at: 0 });
});

test('whoever asks does not wait for a reading that hangs', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const hanging = seldom(() => new Promise<number>(() => {}))();
  t.mock.timers.tick(limits.readMs);
  assert.equal(await hanging, undefined);
});

test('ages are those at the time of the reading, and 0 when nothing waits', async () => {
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
    },
    { clock: { now: () => 100_000 }, version: '1.2.3' },
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
