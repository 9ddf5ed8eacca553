import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEFAULT_SCHEDULE,
  nextAttempt,
  parseDelay,
  parseSchedule,
} from '../../../src/webhooks/delivery/schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('the default schedule is the one of the contract', () => {
  assert.deepEqual(parseSchedule(DEFAULT_SCHEDULE), [
    0,
    5000,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
  ]);
});

test('a schedule is read in every unit, with white space around its entries', () => {
  assert.deepEqual(parseSchedule(' 0ms, 250ms ,1s,2m,3h,30d '), [
    0,
    250,
    1000,
    2 * MINUTE,
    3 * HOUR,
    720 * HOUR,
  ]);
});

test('a wrong schedule is refused, and all wrong entries are named', () => {
  for (const bad of ['', '5', '-5s', '1.5s', '5 s', '5S', '31d', '1w', '1e3s', '9999999999ms']) {
    assert.throws(() => parseSchedule(`0s,${bad},5s`), { message: new RegExp(`wrong: "${bad}"\\.$`) }, bad);
  }
  assert.throws(() => parseSchedule('x,1s,y'), /wrong: "x", "y"\.$/);
  assert.throws(() => parseSchedule(Array(101).fill('1s').join()), /101 entries/);
});

test('a failed attempt is followed by the next after its delay, with a jitter of ten per cent', () => {
  const schedule = [0, 5000, 60_000];
  const due = (step: number, random01: number) => {
    const next = nextAttempt(schedule, step, 1_000_000, random01);
    assert.equal(next.state, 'pending');
    assert.equal(next.step, step);
    return next.due - 1_000_000;
  };
  assert.deepEqual([due(1, 0), due(1, 0.5), due(1, 1)], [4500, 5000, 5500]);
  assert.deepEqual([due(2, 0), due(2, 0.5), due(2, 1)], [54_000, 60_000, 66_000]);
});

test('after the last attempt of the schedule the delivery has failed', () => {
  assert.deepEqual(nextAttempt([0, 5000], 2, 10, 0.5), { state: 'failed' });
  assert.deepEqual(nextAttempt([0], 7, 10, 0.5), { state: 'failed' });
});

test('one delay is read in every unit, and a wrong one is refused', () => {
  assert.deepEqual(['250ms', '5s', '5d'].map(parseDelay), [250, 5000, 120 * HOUR]);
  for (const bad of ['', '5', '31d', '5d,6d']) assert.throws(() => parseDelay(bad), /such as 5d/, bad);
});
