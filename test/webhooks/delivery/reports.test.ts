import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../../src/runtime.ts';
import { outcomeOf } from '../../../src/webhooks/delivery/outcome.ts';
import type { Recorded } from '../../../src/webhooks/delivery/port.ts';
import { createReports, type DeliveryMeasures } from '../../../src/webhooks/delivery/reports.ts';
import { attempt, delivery, rules, settings } from './due.ts';

/** What is reported of the last attempt of a schedule, which ended with this status and was recorded like this. */
function reported(status: number, result: Recorded) {
  const sent = {
    webhook: 'wh_1',
    fence: 1,
    delivery: { ...delivery('evt_1'), step: rules.schedule.length - 1 },
    settings: settings(),
  };
  const ends: string[] = [];
  const lines: string[] = [];
  const measures: DeliveryMeasures = {
    attemptEnded: (end) => void ends.push(end),
    batchEnded() {},
    happened() {},
  };
  const note = (_: object, message: string) => void lines.push(message);
  const report = createReports({ ...silentLog, debug: note, info: note, warn: note }, measures);
  report([outcomeOf(sent, attempt(status, 0), rules, 0)], [result]);
  return [ends[0], lines[0]];
}

test('a delivery fails for good with the last attempt of its schedule', () => {
  assert.deepEqual(reported(500, 'settled'), ['failed', 'a delivery failed for good']);
});

test('a failed attempt of a delivery that was sent again meanwhile is not its last', () => {
  for (const result of ['anew', 'late'] as const)
    assert.deepEqual(reported(500, result), ['retrying', 'an attempt failed'], result);
});

test('a failed attempt that another replica repeats is not the last', () => {
  assert.deepEqual(reported(500, 'lost'), ['retrying', 'an attempt failed']);
});

test('a success is one, whatever became of the delivery meanwhile', () => {
  for (const result of ['settled', 'late', 'gone'] as const)
    assert.deepEqual(reported(204, result), ['delivered', 'delivered'], result);
});
