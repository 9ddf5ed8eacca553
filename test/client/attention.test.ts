import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needingAttention, type WebhookHealth } from '../../packages/client/src/attention.ts';

const WELL = { status: 'enabled', waiting: 0, failed: 0 } as const;
const FAILED_LAST = { lastSuccessAt: '2026-11-21T11:00:00Z', lastFailureAt: '2026-11-21T12:00:00Z' };

function problemsOf(...webhooks: WebhookHealth[]) {
  return needingAttention(webhooks).map(({ kind, problem, step }) => [kind, problem, step.do]);
}

test('of several webhooks the most urgent come first, with what is wrong and what helps', () => {
  assert.deepEqual(
    problemsOf(
      { ...WELL, lastFailureAt: '2026-11-21T12:00:00Z' },
      { ...WELL, waiting: 9, oldestWaitingAge: 7_300 },
      { ...WELL, pausedUntil: '2026-11-21T12:00:00Z' },
      { ...WELL, failed: 2 },
      { ...WELL, status: 'disabled', waiting: 3 },
      { ...WELL, ...FAILED_LAST, waiting: 1, oldestWaitingAge: 2, pausedUntil: '2026-11-21T12:05:00Z' },
      { ...WELL, status: 'disabled', disabledReason: 'It is gone.', waiting: 1 },
    ),
    [
      ['bad', 'The service disabled it: It is gone. 1 delivery is held.', 'enable'],
      ['bad', '2 deliveries failed for good.', 'replay'],
      [
        'bad',
        'The last attempt failed. Its receiver requested a pause until 2026-11-21T12:05:00Z. 1 delivery is waiting.',
        'look',
      ],
      ['warn', 'It is disabled. 3 deliveries are held.', 'enable'],
      ['warn', 'Its receiver requested a pause until 2026-11-21T12:00:00Z.', 'look'],
      ['warn', '9 deliveries are waiting, the oldest for 2 h.', 'look'],
      ['warn', 'The last attempt failed.', 'look'],
    ],
  );
});

test('a webhook that waits its turn, works again, or was disabled by its owner needs no attention', () => {
  assert.deepEqual(
    problemsOf(
      WELL,
      { ...WELL, waiting: 9, oldestWaitingAge: 59 },
      { ...WELL, ...FAILED_LAST, lastSuccessAt: '2026-11-21T13:00:00Z' },
      { ...WELL, status: 'disabled' },
    ),
    [],
  );
});

test('a webhook whose attempts fail shows waiting and failed deliveries as one problem', () => {
  const waiting = { waiting: 2, oldestWaitingAge: 172_800, failed: 1 };
  assert.deepEqual(problemsOf({ ...WELL, ...waiting, ...FAILED_LAST }, { ...WELL, ...waiting }), [
    [
      'bad',
      'The last attempt failed. 2 deliveries are waiting, the oldest for 2 d. 1 delivery failed for good.',
      'look',
    ],
    ['bad', '1 delivery failed for good. 2 deliveries are waiting, the oldest for 2 d.', 'replay'],
  ]);
});
