import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delivery } from '../../src/limits.ts';
import { createLanes, type LaneEnd, type Lanes } from '../../src/webhooks/lanes.ts';

const bounds = {
  perWebhook: 16,
  ahead: 0,
  claimTogether: 1,
  inAll: 256,
  share: 1 / 8,
  failuresToProbe: 5,
  probeMs: { first: 100, most: 1000 },
  rateBurst: 1 / 10,
  rememberedLanes: 1000,
  troubledMs: 60_000,
};

/** How many requests the webhook may get now, as a store deals them out. */
function widthOf(lanes: Lanes, webhook: string, now = 0): number {
  const { places, limit } = lanes.room(now);
  return Math.min(limit, places.of.get(webhook) ?? places.each);
}

function enter(lanes: Lanes, id: string, now = 0, rate?: number): void {
  lanes.enter({ id, rate }, now);
}

function fill(lanes: Lanes, webhook: string, now = 0): number {
  const width = widthOf(lanes, webhook, now);
  for (let i = 0; i < width; i++) enter(lanes, webhook, now);
  return width;
}

function attempt(lanes: Lanes, webhook: string, end: LaneEnd, now = 0): void {
  enter(lanes, webhook, now);
  lanes.leave(webhook, end, now);
}

test('a lane that has not been tried for long counts as neither silent nor failing', () => {
  const lanes = createLanes(bounds);
  attempt(lanes, 'gone', 'silence');
  for (let n = 0; n < bounds.failuresToProbe; n++) attempt(lanes, 'broken', 'failure');
  enter(lanes, 'hanging');
  lanes.leave('hanging', 'silence', 0);
  enter(lanes, 'hanging');
  assert.deepEqual(lanes.reading(bounds.troubledMs - 1), { underWay: 1, silent: 2, failing: 1 });
  assert.deepEqual(lanes.reading(bounds.troubledMs), { underWay: 1, silent: 1, failing: 0 });
});

test('a webhook gets its own number of requests and no more', () => {
  const lanes = createLanes(bounds);
  assert.equal(fill(lanes, 'a'), 16);
  assert.equal(widthOf(lanes, 'a'), 0);
  assert.equal(widthOf(lanes, 'b'), 16);
  lanes.leave('a', 'success', 0);
  assert.equal(widthOf(lanes, 'a'), 1);
});

test('deliveries are claimed ahead, and a busy lane is claimed for in groups', () => {
  const lanes = createLanes({ ...bounds, inAll: 512, ahead: 1, claimTogether: 8 });
  assert.equal(fill(lanes, 'a'), 32);
  for (let i = 0; i < 7; i++) lanes.leave('a', 'success', 0);
  assert.equal(widthOf(lanes, 'a'), 0);
  lanes.leave('a', 'success', 0);
  assert.equal(widthOf(lanes, 'a'), 8);
  const narrow = createLanes({ ...bounds, perWebhook: 1, ahead: 2, claimTogether: 8 });
  assert.equal(fill(narrow, 'a'), 3);
  narrow.leave('a', 'success', 0);
  assert.equal(widthOf(narrow, 'a'), 0);
  narrow.leave('a', 'success', 0);
  assert.equal(widthOf(narrow, 'a'), 2);
});

test('a lease lasts longer than a delivery that was claimed ahead can wait and be under way', () => {
  assert.ok(delivery.leaseMs > (1 + delivery.ahead) * delivery.attemptMs);
});

test('never more requests are under way than in all', () => {
  const lanes = createLanes({ ...bounds, inAll: 20 });
  let total = 0;
  for (let i = 0; i < 100; i++) total += fill(lanes, `w${i}`);
  assert.equal(total, 20);
  assert.equal(lanes.room(0).limit, 0);
});

test('a hundred slow receivers leave places free for one more', () => {
  const lanes = createLanes(bounds);
  for (let round = 0; round < 16; round++) {
    for (let i = 0; i < 100; i++) if (widthOf(lanes, `slow${i}`) > 0) enter(lanes, `slow${i}`);
  }
  assert.ok(widthOf(lanes, 'quick') >= 1);
  assert.ok(lanes.room(0).limit > 1);
});

test('a backlog for many webhooks takes all places neither at once nor in the end', () => {
  const lanes = createLanes(bounds);
  const webhooks = Array.from({ length: 32 }, (_, i) => `w${i}`);
  for (let round = 0; round < 100; round++) {
    let { limit } = lanes.room(0);
    assert.ok(limit <= 32);
    for (const webhook of webhooks) {
      if (limit === 0 || widthOf(lanes, webhook) === 0) continue;
      enter(lanes, webhook);
      limit--;
    }
  }
  assert.ok(widthOf(lanes, 'other') >= 1);
});

test('a webhook that was silent gets one request at a time until it answers', () => {
  const lanes = createLanes(bounds);
  attempt(lanes, 'a', 'silence');
  assert.equal(fill(lanes, 'a'), 1);
  assert.equal(widthOf(lanes, 'a'), 0);
  lanes.leave('a', 'failure', 0);
  assert.equal(widthOf(lanes, 'a'), 16);
});

test('silent webhooks take at most half of the places together', () => {
  const lanes = createLanes(bounds);
  for (let i = 0; i < 300; i++) attempt(lanes, `w${i}`, 'silence');
  let total = 0;
  for (let i = 0; i < 300; i++) total += fill(lanes, `w${i}`);
  assert.equal(total, 128);
  assert.equal(widthOf(lanes, 'other'), 16);
});

test('a webhook that fails again and again is probed, with pauses that grow up to a bound', () => {
  const lanes = createLanes(bounds);
  for (let i = 0; i < 4; i++) attempt(lanes, 'a', 'failure');
  assert.equal(widthOf(lanes, 'a'), 16);
  let now = 0;
  const pauses: number[] = [];
  for (let i = 0; i < 6; i++) {
    attempt(lanes, 'a', 'failure', now);
    assert.equal(widthOf(lanes, 'a', now), 0);
    const opensAt = lanes.opensAt(now) ?? 0;
    pauses.push(opensAt - now);
    assert.equal(widthOf(lanes, 'a', opensAt - 1), 0);
    assert.equal(widthOf(lanes, 'a', opensAt), 1);
    now = opensAt;
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1000, 1000]);
});

test('requests that fail together count as one probe', () => {
  const lanes = createLanes(bounds);
  fill(lanes, 'a');
  for (let i = 0; i < 16; i++) lanes.leave('a', 'failure', 0);
  assert.equal(lanes.opensAt(0), 200);
});

test('the first success opens a lane again', () => {
  const lanes = createLanes(bounds);
  for (let i = 0; i < 20; i++) attempt(lanes, 'a', i % 2 === 0 ? 'failure' : 'silence');
  attempt(lanes, 'a', 'success');
  assert.equal(widthOf(lanes, 'a'), 16);
  assert.equal(lanes.opensAt(0), undefined);
});

test('a request that was not made changes nothing about its webhook', () => {
  const lanes = createLanes(bounds);
  attempt(lanes, 'a', 'silence');
  attempt(lanes, 'a', 'not made');
  assert.equal(widthOf(lanes, 'a'), 1);
});

test('a webhook with a rate gets a burst, and then as many as its rate gives back', () => {
  const lanes = createLanes(bounds);
  const begin = (now: number) => {
    const width = widthOf(lanes, 'a', now);
    for (let i = 0; i < width; i++) {
      enter(lanes, 'a', now, 50);
      lanes.leave('a', 'success', now);
    }
    return width;
  };
  enter(lanes, 'a', 0, 50);
  lanes.leave('a', 'success', 0);
  assert.equal(begin(0), 4);
  assert.equal(begin(0), 0);
  assert.equal(lanes.opensAt(0), 20);
  let sent = 0;
  for (let now = 0; now <= 2000; now += 10) sent += begin(now);
  assert.equal(sent, 100);
});

test('a rate of one a second never gives two at once', () => {
  const lanes = createLanes(bounds);
  enter(lanes, 'a', 0, 1);
  assert.equal(widthOf(lanes, 'a', 999), 0);
  assert.equal(widthOf(lanes, 'a', 1000), 1);
  lanes.leave('a', 'success', 1000);
  assert.equal(widthOf(lanes, 'a', 100_000), 16, 'unknown again: the store deals one out to it');
});

test('a clock that is set back does not stop a webhook with a rate', () => {
  const lanes = createLanes(bounds);
  enter(lanes, 'a', 1_000_000, 10);
  lanes.leave('a', 'success', 1_000_000);
  assert.equal(widthOf(lanes, 'a', 0), 0);
  assert.equal(widthOf(lanes, 'a', 99), 0);
  lanes.room(50);
  assert.ok(Number(lanes.opensAt(50)) <= 101);
});

test('the memory for webhooks in trouble is bounded', () => {
  const lanes = createLanes({ ...bounds, rememberedLanes: 10 });
  for (let i = 0; i < 50; i++) attempt(lanes, `w${i}`, 'silence');
  assert.equal(lanes.room(0).places.of.size, 10);
  assert.equal(widthOf(lanes, 'w49'), 1);
});

test('a lane without trouble is not remembered', () => {
  const lanes = createLanes(bounds);
  attempt(lanes, 'a', 'success');
  assert.equal(lanes.room(0).places.of.size, 0);
});
