import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration, parseSince, roughDuration } from '../../../src/cli/terminal/time.ts';

test('a duration is a positive integer and a unit', () => {
  const hour = 3_600_000;
  const texts = ['1s', '90s', '30m', '12h', '90d', '2w'];
  assert.deepEqual(texts.map(parseDuration), [1000, 90_000, hour / 2, 12 * hour, 90 * 24 * hour, 336 * hour]);
  for (const text of ['', '0s', '05m', '1', 'h', '1.5h', '-1h', '1 h', '1H', '1h30m', '1000000s', '1ms']) {
    assert.equal(parseDuration(text), undefined, text);
  }
});

test('a rough duration is rounded down to the largest unit that it fills', () => {
  const seconds = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 1_000_000];
  assert.deepEqual(
    seconds.map((count) => roughDuration(count * 1000)),
    ['0s', '59s', '1m', '59m', '1h', '23h', '1d', '11d'],
  );
});

test('a start time is a duration before now, or an RFC 3339 time kept as written', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  assert.equal(parseSince('2h', now), '2026-11-21T10:00:00.000Z');
  assert.equal(parseSince('999999w', now), '1970-01-01T00:00:00.000Z');
  for (const text of ['2026-11-21T09:00:00Z', '2026-11-21T09:00:00.123456Z', '2026-11-21T09:00:00+05:30']) {
    assert.equal(parseSince(text, now), text);
  }
  const wrong = [
    'yesterday',
    '2026-11-21',
    '2026-11-21T09:00:00',
    '2026-13-21T09:00:00Z',
    '2026-02-30T09:00:00Z',
  ];
  for (const text of [...wrong, '21.11.2026', '']) assert.equal(parseSince(text, now), undefined, text);
});
