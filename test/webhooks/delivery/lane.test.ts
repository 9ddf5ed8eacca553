import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  begin,
  isAsNew,
  type Lane,
  leave,
  mustBeNoted,
  newLane,
  nextOf,
} from '../../../src/webhooks/delivery/lane.ts';
import { expectMore, takeIn } from '../../../src/webhooks/delivery/lane-reads.ts';
import type { DueDelivery, LaneContents, LaneSettings } from '../../../src/webhooks/delivery/port.ts';
import { type AnswerKind, troubleAfter } from '../../../src/webhooks/delivery/trouble.ts';
import { contents, deliveries, delivery, rules, settings } from './due.ts';

const WIDE = 1000;

function laneWith(
  found: Partial<LaneContents>,
  { isInherited = false, careful = 0, now = 0, limit = WIDE, moreAt = Infinity } = {},
): Lane {
  const lane = newLane({ webhook: 'wh_1', fence: 1, isInherited, careful, takenAt: now });
  give(lane, found, now, [], { limit, moreAt });
  return lane;
}

/** Gives the lane what a read that started just now found. */
function give(
  lane: Lane,
  found: Partial<LaneContents>,
  now = 0,
  recorded: string[] = [],
  { limit = WIDE, moreAt = Infinity, isWhole = false } = {},
): void {
  const after = isWhole ? undefined : { due: -1, event: '' };
  const request = { webhook: lane.webhook, now, after, limit, askedLimit: WIDE };
  const began = { request, isStale: false, moreAt, manualAt: Infinity, recorded: new Set(recorded) };
  takeIn(lane, began, contents(found), rules, now);
}

function laneOf(more: Partial<LaneSettings> = {}): Lane {
  return laneWith({ settings: settings(more), due: deliveries(200) });
}

/** The next delivery that may be sent. */
function next(lane: Lane, now = 0): DueDelivery | undefined {
  const found = nextOf(lane, WIDE, rules, now);
  return typeof found === 'object' && 'event' in found ? found : undefined;
}

/** Starts as many as may be sent now. */
function fill(lane: Lane, now = 0): DueDelivery[] {
  const begun: DueDelivery[] = [];
  for (let one = next(lane, now); one; one = next(lane, now)) {
    begin(lane, one);
    begun.push(one);
  }
  return begun;
}

function end(lane: Lane, one: DueDelivery | undefined, how: AnswerKind, now = 0): void {
  assert.ok(one);
  leave(lane, one);
  learn(lane, how, now);
}

function learn(lane: Lane, how: AnswerKind, now: number): void {
  lane.trouble = troubleAfter(lane.trouble, how, lane.inFlight === 0, rules, now);
}

function attempt(lane: Lane, how: AnswerKind, now = 0): void {
  const one = next(lane, now);
  assert.ok(one);
  begin(lane, one);
  end(lane, one, how, now);
}

function opensAt(lane: Lane, now: number): number | undefined {
  const found = nextOf(lane, WIDE, rules, now);
  return typeof found === 'object' && 'until' in found ? found.until : undefined;
}

test('a read that ended before its limit continues where it ended, even if it found nothing', () => {
  const through = { due: 5, event: 'evt_0005' };
  const lane = laneWith({ through });
  assert.deepEqual(lane.after, through);
  assert.equal(lane.moreAt, -Infinity);
  give(lane, { due: [delivery('evt_0009', { due: 6 })], nextDue: 9 });
  assert.deepEqual([lane.after, lane.moreAt], [undefined, 9]);
  assert.equal(next(lane, 6)?.event.id, 'evt_0009');
});

test('a webhook never gets more than its number of requests', () => {
  const lane = laneOf();
  const [first] = fill(lane);
  assert.equal(lane.inFlight, 16);
  end(lane, first, 'success');
  assert.equal(fill(lane).length, 1);
});

test('a lane is sent in the order in which it is read', () => {
  const lane = laneOf();
  assert.deepEqual(
    fill(lane).map(({ event }) => event.id),
    deliveries(16).map(({ event }) => event.id),
  );
});

test('a silent webhook gets one request at a time until it answers', () => {
  const lane = laneOf();
  attempt(lane, 'silence');
  const [only, ...others] = fill(lane);
  assert.deepEqual(others, []);
  end(lane, only, 'failure');
  assert.equal(fill(lane).length, 16);
});

test('a repeatedly failing webhook is probed, with growing, limited pauses', () => {
  const lane = laneOf();
  for (let n = 0; n < 4; n++) attempt(lane, 'failure');
  let now = 0;
  const pauses: number[] = [];
  for (let n = 0; n < 6; n++) {
    attempt(lane, 'failure', now);
    const opens = opensAt(lane, now) ?? 0;
    pauses.push(opens - now);
    assert.equal(next(lane, opens - 1), undefined);
    now = opens;
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1000, 1000]);
  assert.equal(fill(lane, now).length, 1);
});

test('requests that fail together count as one probe', () => {
  const lane = laneOf();
  for (const one of fill(lane)) end(lane, one, 'failure');
  assert.equal(opensAt(lane, 0), 200);
});

test('the first success opens a lane again', () => {
  const lane = laneOf();
  const [first, second] = fill(lane);
  for (let n = 0; n < 20; n++) learn(lane, n % 2 === 0 ? 'failure' : 'silence', 0);
  end(lane, first, 'success');
  end(lane, second, 'success');
  assert.equal(fill(lane).length, 2);
});

test('a webhook with a rate gets a burst, and then as many as its rate gives back', () => {
  const lane = laneOf({ rate: 50 });
  const sent = (now: number) => {
    const begun = fill(lane, now);
    for (const one of begun) end(lane, one, 'success', now);
    return begun.length;
  };
  assert.equal(sent(0), 5);
  assert.equal(sent(0), 0);
  assert.equal(opensAt(lane, 0), 20);
  let count = 0;
  for (let now = 0; now <= 2000; now += 10) count += sent(now);
  assert.equal(count, 100);
});

test('a rate of one a second never gives two at once', () => {
  const lane = laneOf({ rate: 1 });
  attempt(lane, 'success');
  assert.equal(next(lane, 999), undefined);
  assert.equal(fill(lane, 1000).length, 1);
  assert.equal(fill(lane, 100_000).length, 1);
});

test('a clock that is set back does not stop a webhook with a rate', () => {
  const lane = laneWith({ settings: settings({ rate: 10 }), due: deliveries(9) }, { now: 1_000_000 });
  attempt(lane, 'success', 1_000_000);
  assert.equal(next(lane, 0), undefined);
  assert.equal(next(lane, 99), undefined);
  assert.ok(Number(opensAt(lane, 50)) <= 101);
});

test('a lane just taken from another replica starts with an empty bucket', () => {
  const found = { settings: settings({ rate: 10 }), due: deliveries(9) };
  assert.equal(opensAt(laneWith(found, { isInherited: true }), 0), 100);
});

test('requested deliveries go first', () => {
  const lane = laneWith({ due: deliveries(3), asked: [delivery('evt_asked', { isAsked: true })] });
  assert.equal(fill(lane)[0]?.event.id, 'evt_asked');
});

test('a slot is kept for requested deliveries, even in a full, silent or probed lane', () => {
  const asked = [delivery('evt_1', { isAsked: true }), delivery('evt_2', { isAsked: true })];
  for (const prepare of [fill, (lane: Lane) => attempt(lane, 'silence'), failing]) {
    const lane = laneOf();
    prepare(lane);
    fill(lane);
    give(lane, { asked });
    assert.deepEqual(fill(lane), [asked[0]]);
  }
});

function failing(lane: Lane): void {
  for (let n = 0; n < rules.failuresToProbe; n++) attempt(lane, 'failure');
}

test('a waiting delivery that is requested repeatedly is sent once', () => {
  const [first, second] = [delivery('evt_1', { isAsked: true }), delivery('evt_2', { isAsked: true })];
  const lane = laneWith({ asked: [first, second], due: [delivery('evt_3')] });
  const again = { ...first, generation: 1, due: 1 };
  give(lane, { asked: [second, again], due: [delivery('evt_3'), second, again] });
  assert.deepEqual(fill(lane), [second, again, delivery('evt_3')]);
});

test('a pause and a rate apply to requested deliveries, too', () => {
  const asked = [delivery('evt_1', { isAsked: true }), delivery('evt_2', { isAsked: true })];
  assert.equal(opensAt(laneWith({ settings: settings({ pausedUntil: 70 }), asked }), 0), 70);
  const limited = laneWith({ settings: settings({ rate: 1 }), asked });
  attempt(limited, 'success');
  assert.equal(opensAt(limited, 0), 1000);
});

test('after an unclean end, only what may have been in flight then must be noted', () => {
  const [old, later] = [delivery('evt_0'), delivery('evt_1', { due: 1 })];
  const lane = laneWith({}, { careful: 1 });
  assert.deepEqual([mustBeNoted(lane, old), mustBeNoted(lane, later)], [true, false]);
  assert.ok(mustBeNoted(lane, { ...later, suspicions: 1 }));
  assert.ok(!mustBeNoted(laneWith({}), old));
});

test('a delivery that may have ended a process is alone in its lane', () => {
  const due = [delivery('evt_0'), delivery('evt_1', { suspicions: 1 }), delivery('evt_2')];
  const lane = laneWith({ due }, { careful: 1 });
  for (const one of due) {
    assert.deepEqual(fill(lane), [one]);
    end(lane, one, 'success');
  }
});

test('a delivery requested after an unclean end does not wait for one that is sent alone', () => {
  const requested = delivery('evt_new', { isAsked: true, due: 1 });
  const due = [delivery('evt_0', { suspicions: 1 }), delivery('evt_1')];
  const lane = laneWith({ due }, { careful: 1 });
  const [alone] = fill(lane);
  give(lane, { asked: [delivery('evt_old', { isAsked: true })] });
  assert.deepEqual(fill(lane), []);
  give(lane, { asked: [requested] });
  assert.deepEqual(fill(lane), [requested]);
  end(lane, requested, 'success');
  assert.deepEqual(fill(lane), []);
  end(lane, alone, 'success');
  assert.equal(fill(lane).length, 1);
});

test('a read does not return deliveries that are running, waiting, or recorded since it started', () => {
  const due = deliveries(4);
  const lane = laneWith({ due: due.slice(0, 2) });
  const [first] = due;
  assert.ok(first);
  begin(lane, first);
  give(lane, { due }, 0, [`${due[2]?.event.id} 0`]);
  assert.deepEqual(lane.queue, [due[1], due[3]]);
});

test('deliveries missing in a read from the start are not sent, and late ones get their place', () => {
  const [first, second, third] = deliveries(3);
  assert.ok(first && second && third);
  const lane = laneWith({ due: [second, third] });
  give(lane, { due: [first, third] }, 0, [], { isWhole: true });
  assert.deepEqual(lane.queue, [first, third]);
});

test('a delivery made due before the read position is read from the beginning, even when reported during a read', () => {
  const due = [delivery('evt_0', { due: 5 }), delivery('evt_1', { due: 6 })];
  const lane = laneWith({ due, settings: settings() }, { limit: 2 });
  assert.deepEqual(lane.after, { due: 6, event: 'evt_1' });
  expectMore(lane, 7);
  assert.deepEqual(lane.after, { due: 6, event: 'evt_1' });
  expectMore(lane, 5);
  assert.equal(lane.after, undefined);
  const told = laneWith({ due }, { limit: 2, moreAt: 5 });
  assert.equal(told.after, undefined);
});

test('a read that started before a pause was recorded does not end it', () => {
  const lane = laneOf();
  lane.state = { generation: 0, pausedUntil: 500, failingSince: 3, disabledReason: undefined };
  give(lane, { settings: settings() });
  assert.equal(opensAt(lane, 0), 500);
  give(lane, { settings: settings({ generation: 1 }) });
  assert.equal(fill(lane).length, 16);
});

test('another URL ends probing', () => {
  const lane = laneOf();
  failing(lane);
  give(lane, { settings: settings({ generation: 1 }) });
  assert.equal(fill(lane).length, 16);
});

test('a lane without recent trouble counts as new', () => {
  const lane = laneWith({});
  assert.ok(isAsNew(lane, rules.troubledMs, 0));
  learn(lane, 'failure', 0);
  assert.ok(!isAsNew(lane, rules.troubledMs, rules.troubledMs - 1));
  assert.ok(isAsNew(lane, rules.troubledMs, rules.troubledMs));
});
