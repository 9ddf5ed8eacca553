import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromNow } from '../../console/src/format.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test('a time to come is rounded: what was chosen as a day is not 23 hours a moment later', () => {
  for (const [ms, text] of [
    [DAY - 1, 'tomorrow'],
    [30 * DAY - 5_000, 'in 30 days'],
    [23 * HOUR, 'in 23 hours'],
    [HOUR - 1, 'in 1 hour'],
    [2 * HOUR - 5_000, 'in 2 hours'],
    [59_400, 'in 59 seconds'],
    [999, 'in 1 second'],
    [400, 'now'],
  ] as const) {
    assert.equal(fromNow(ms, 0), text);
  }
});

test('a time that has passed counts whole units', () => {
  for (const [ms, text] of [
    [2 * DAY - 1, 'yesterday'],
    [2 * HOUR - 1, '1 hour ago'],
    [59_999, '59 seconds ago'],
    [999, 'now'],
  ] as const) {
    assert.equal(fromNow(0, ms), text);
  }
});
