import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeText } from '../../src/runtime.ts';
import { parseDateTime } from '../../src/webhooks/time.ts';

test('a time is written in UTC with milliseconds', () => {
  assert.equal(timeText(0), '1970-01-01T00:00:00.000Z');
  assert.equal(timeText(1_795_248_000_007), '2026-11-21T08:00:00.007Z');
});

test('every date-time of RFC 3339 is read', () => {
  const times: [string, string][] = [
    ['2026-11-21T08:00:00Z', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21t08:00:00z', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T08:00:00.5+01:00', '2026-11-21T07:00:00.500Z'],
    ['2026-11-21T08:00:00-23:59', '2026-11-22T07:59:00.000Z'],
    ['2026-11-21T08:00:00-00:00', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T23:59:59.999999999Z', '2026-11-21T23:59:59.999Z'],
    [`2026-11-21T08:00:00.${'1'.repeat(1000)}Z`, '2026-11-21T08:00:00.111Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['1985-04-12T23:20:50.52Z', '1985-04-12T23:20:50.520Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0000-02-29T00:00:00Z', '0000-02-29T00:00:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ];
  for (const [text, time] of times) assert.equal(timeText(parseDateTime(text) ?? Number.NaN), time, text);
});

test('nothing else is read', () => {
  const days = [
    '2026-02-29',
    '2100-02-29',
    '2026-02-30',
    '2026-04-31',
    '2026-13-01',
    '2026-00-01',
    '2026-01-00',
  ];
  const forms = [
    '2026-11-21',
    '2026-11-21T08:00Z',
    '2026-11-21T08:00:00',
    '2026-11-21 08:00:00Z',
    '2026-W47-6T08:00:00Z',
  ];
  const times = [
    'T24:00:00Z',
    'T23:59:60Z',
    'T08:60:00Z',
    'T8:00:00Z',
    'T08:00:00.Z',
    'T08:00:00,5Z',
    'T080000Z',
  ];
  const offsets = ['+1:00', '+0100', '+24:00', '+01:60', '+01', '-', 'GMT', ' Z', 'ZZ', '+01:00Z'];
  const wrong = [
    ...['', 'x', 'now', '2h', '0', '1795248000', 'Sat, 21 Nov 2026 08:00:00 GMT', '+002026-11-21T08:00:00Z'],
    ...['26-11-21T08:00:00Z', ' 2026-11-21T08:00:00Z', '2026-11-21T08:00:00Z\n', '２026-11-21T08:00:00Z'],
    ...days.map((day) => `${day}T08:00:00Z`),
    ...forms,
    ...times.map((time) => `2026-11-21${time}`),
    ...offsets.map((offset) => `2026-11-21T08:00:00${offset}`),
  ];
  for (const text of wrong) assert.equal(parseDateTime(text), undefined, text);
});
