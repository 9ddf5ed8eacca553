import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLanes } from '../../src/webhooks/lanes.ts';

const bounds = { perWebhook: 16, inAll: 256, silentWebhooks: 1000, share: 1 / 8 };
const answered = { status: 200, durationMs: 1 };
const silent = { error: 'There was no whole answer within 15 s.', durationMs: 15_000 };

/** How many more requests the webhook may get now, as a store deals them out. */
function widthOf(lanes: ReturnType<typeof createLanes>, webhook: string): number {
  const { perWebhook, busy, limit } = lanes.room();
  return Math.min(limit, Math.max(0, perWebhook - (busy.get(webhook) ?? 0)));
}

function fill(lanes: ReturnType<typeof createLanes>, webhook: string): number {
  const width = widthOf(lanes, webhook);
  for (let i = 0; i < width; i++) lanes.enter(webhook);
  return width;
}

test('a webhook gets its own number of requests and no more', () => {
  const lanes = createLanes(bounds);
  assert.equal(fill(lanes, 'a'), 16);
  assert.equal(widthOf(lanes, 'a'), 0);
  assert.equal(widthOf(lanes, 'b'), 16);
  lanes.leave('a', answered);
  assert.equal(widthOf(lanes, 'a'), 1);
});

test('never more requests are under way than in all', () => {
  const lanes = createLanes({ ...bounds, inAll: 20 });
  let total = 0;
  for (let i = 0; i < 100; i++) total += fill(lanes, `w${i}`);
  assert.equal(total, 20);
  assert.equal(lanes.room().limit, 0);
});

test('a hundred slow receivers leave places free for one more', () => {
  const lanes = createLanes(bounds);
  for (let round = 0; round < 16; round++) {
    for (let i = 0; i < 100; i++) if (widthOf(lanes, `slow${i}`) > 0) lanes.enter(`slow${i}`);
  }
  assert.ok(widthOf(lanes, 'quick') >= 1);
  assert.ok(lanes.room().limit > 8);
});

test('a webhook that was silent is tried with one request at a time until it answers', () => {
  const lanes = createLanes(bounds);
  lanes.enter('a');
  lanes.leave('a', silent);
  assert.equal(fill(lanes, 'a'), 1);
  assert.equal(widthOf(lanes, 'a'), 0);
  lanes.leave('a', { status: 500, durationMs: 1 });
  assert.equal(widthOf(lanes, 'a'), 16);
});

test('silent webhooks take at most half of the places together', () => {
  const lanes = createLanes(bounds);
  for (let i = 0; i < 300; i++) {
    lanes.enter(`w${i}`);
    lanes.leave(`w${i}`, silent);
  }
  let total = 0;
  for (let i = 0; i < 300; i++) total += fill(lanes, `w${i}`);
  assert.equal(total, 128);
  assert.equal(widthOf(lanes, 'other'), 16);
});

test('the memory for silent webhooks is bounded', () => {
  const lanes = createLanes({ ...bounds, silentWebhooks: 10 });
  for (let i = 0; i < 50; i++) {
    lanes.enter(`w${i}`);
    lanes.leave(`w${i}`, silent);
  }
  assert.equal(lanes.room().busy.size, 10);
  assert.equal(widthOf(lanes, 'w49'), 1);
});

test('a delivery that was not attempted changes nothing about its webhook', () => {
  const lanes = createLanes(bounds);
  lanes.enter('a');
  lanes.leave('a', silent);
  lanes.enter('a');
  lanes.leave('a', undefined);
  assert.equal(widthOf(lanes, 'a'), 1);
});
