import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf, pauseOf, poisonedOutcome, type Sent } from '../../../src/webhooks/delivery/outcome.ts';
import type { Attempt } from '../../../src/webhooks/sending/attempt.ts';
import { rules as usual } from './due.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const DAY = 86_400_000;
const rules = { ...usual, schedule: [0, 5000, 60_000], disableAfterMs: 5 * DAY };

function sent({ step = 0, failingSince }: { step?: number; failingSince?: number } = {}): Sent {
  const plant = { id: 1n, name: 'Alder', tag: undefined };
  const event = { id: 'evt_1', type: 'plant.created', at: NOW, plant } as const;
  const url = 'https://example.com/';
  return {
    webhook: 'wh_1',
    fence: 7,
    delivery: { event, due: NOW, step, generation: 4, isAsked: false, suspicions: 0 },
    settings: {
      ...{ url, rate: undefined, pausedUntil: undefined, failingSince, generation: 2 },
      ...{ owner: 1, secrets: [], privateKey: '' },
    },
  };
}

function outcome(attempt: Partial<Attempt>, of: Parameters<typeof sent>[0] = {}) {
  const { laneState, ...rest } = outcomeOf(sent(of), { at: NOW - 5, durationMs: 5, ...attempt }, rules, NOW);
  return { ...rest, ...laneState };
}

test('an answer with a status 2xx delivers', () => {
  for (const status of [200, 201, 204, 299]) {
    const { next, reason, disabledReason, pausedUntil, failingSince } = outcome(
      { status },
      { failingSince: 0 },
    );
    assert.deepEqual(
      [next, reason, disabledReason, pausedUntil, failingSince],
      [{ state: 'delivered' }, undefined, undefined, undefined, undefined],
    );
  }
});

test('everything else is a failure that is retried by the schedule', () => {
  for (const status of [100, 199, 301, 302, 400, 401, 404, 429, 500, 503, 599]) {
    assert.deepEqual(outcome({ status }).next, { state: 'pending', due: NOW + 5000, step: 1 }, `${status}`);
  }
  assert.deepEqual(outcome({ error: 'no', status: 200 }).next, {
    state: 'pending',
    due: NOW + 5000,
    step: 1,
  });
  assert.deepEqual(outcome({ status: 500 }, { step: 1 }).next, {
    state: 'pending',
    due: NOW + 60_000,
    step: 2,
  });
});

test('after the last attempt of the schedule the delivery has failed, with its reason', () => {
  const { next, reason } = outcome({ status: 500 }, { step: 2 });
  assert.deepEqual([next, reason], [{ state: 'failed' }, 'The receiver answered 500.']);
});

test('a receiver that is gone disables its webhook, and the delivery keeps waiting', () => {
  const { next, disabledReason } = outcome({ status: 410 }, { step: 2 });
  assert.deepEqual(next, { state: 'pending', due: NOW, step: 2 });
  assert.equal(disabledReason, 'The receiver answered 410: it is gone.');
});

test('Retry-After of 429 and 503 pauses the webhook, and its delivery continues by the schedule', () => {
  for (const status of [429, 503]) {
    const long = outcome({ status, retryAfter: '3600' });
    assert.equal(long.pausedUntil, NOW + 3_600_000);
    assert.deepEqual(long.next, { state: 'pending', due: NOW + 5000, step: 1 });
    const short = outcome({ status, retryAfter: '1' });
    assert.equal(short.pausedUntil, NOW + 1000);
    assert.deepEqual(short.next, { state: 'pending', due: NOW + 5000, step: 1 });
  }
});

test('Retry-After of other statuses is ignored', () => {
  for (const status of [200, 301, 400, 500]) {
    assert.equal(outcome({ status, retryAfter: '3600' }).pausedUntil, undefined);
  }
});

test('Retry-After is read as seconds and as a date in every HTTP form', () => {
  assert.equal(pauseOf('120', NOW), NOW + 120_000);
  assert.equal(pauseOf('Sat, 21 Nov 2026 12:30:00 GMT', NOW), NOW + 1_800_000);
  assert.equal(pauseOf('Saturday, 21-Nov-26 12:30:00 GMT', NOW), NOW + 1_800_000);
  assert.equal(pauseOf('Sat Nov 21 12:30:00 2026', NOW), NOW + 1_800_000);
});

test('Retry-After is limited to 24 hours, and ignored in the past', () => {
  assert.equal(pauseOf('9999999999', NOW), NOW + DAY);
  assert.equal(pauseOf('9'.repeat(400), NOW), NOW + DAY);
  assert.equal(pauseOf('Sun, 21 Nov 2027 12:30:00 GMT', NOW), NOW + DAY);
  for (const past of ['0', 'Fri, 20 Nov 2026 12:30:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT']) {
    assert.equal(pauseOf(past, NOW), undefined, past);
  }
});

test('an invalid Retry-After is ignored', () => {
  for (const bad of ['', ' ', 'soon', '-1', '1.5', '+5', '1e3', '2026-11-21', '12;', 'x'.repeat(99)]) {
    assert.equal(pauseOf(bad, NOW), undefined, bad);
  }
  assert.equal(pauseOf(undefined, NOW), undefined);
});

test('a webhook whose every attempt failed for five days is disabled, and not a moment before', () => {
  const failingSince = NOW - 5 * DAY;
  assert.equal(
    outcome({ status: 500 }, { failingSince }).disabledReason,
    `Every attempt has failed since ${new Date(failingSince).toISOString()}.`,
  );
  assert.equal(outcome({ status: 500 }, { failingSince: failingSince + 1 }).disabledReason, undefined);
  assert.equal(outcome({ status: 500 }).disabledReason, undefined);
});

test('two failures after the clock was set back do not disable a webhook', () => {
  const first = outcome({ status: 500, at: NOW - 6 * DAY });
  const failingSince = first.failingSince ?? 0;
  const second = outcome({ status: 500, at: NOW - 6 * DAY }, { failingSince });
  assert.deepEqual([first.disabledReason, second.disabledReason], [undefined, undefined]);
});

test('the first failure since the last success is recorded', () => {
  assert.equal(outcome({ status: 500 }).failingSince, NOW);
  assert.equal(outcome({ status: 500 }, { failingSince: 7 }).failingSince, 7);
});

test('a delivery during which processes died has failed once more, which says nothing about its receiver', () => {
  const failing = { step: 1, failingSince: NOW - 9 * DAY };
  const { attempt, reason, next, laneState } = poisonedOutcome(sent(failing), rules, NOW);
  assert.deepEqual(
    [attempt.at, attempt.durationMs, attempt.error, reason],
    [NOW, 0, 'The service ended 0 times while it sent this.', attempt.error],
  );
  assert.deepEqual(next, { state: 'pending', due: NOW + 60_000, step: 2 });
  assert.deepEqual([laneState.failingSince, laneState.disabledReason], [failing.failingSince, undefined]);
  assert.equal(poisonedOutcome(sent(), rules, NOW).laneState.failingSince, undefined);
});

test('a restarted schedule continues from its first step', () => {
  assert.deepEqual(outcome({ status: 500 }, { step: -2 }).next, {
    state: 'pending',
    due: NOW + 5000,
    step: 1,
  });
});
