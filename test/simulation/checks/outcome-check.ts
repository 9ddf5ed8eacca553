import type { Outcome } from '../../../src/webhooks/delivery/port.ts';
import type { Rules } from '../../../src/webhooks/delivery/rules.ts';
import { failureOf } from '../../../src/webhooks/sending/attempt.ts';
import { pauseOf, type Send } from './send.ts';

/**
 * Checks an attempt's outcome against the contract, without using the functions under test.
 * @param offMs the allowed difference between a replica's clock and the store's
 */
export function checkOutcome(
  { webhook, event, step, next, laneState }: Outcome,
  { attempt, endedAt = 0, settings }: Send,
  { schedule }: Rules,
  offMs: number,
  fail: (what: string) => void,
): void {
  if (!attempt) return;
  const text = `the outcome of ${event} for ${webhook}`;
  const isFailure = failureOf(attempt) !== undefined;
  if (isFailure === (next.state === 'delivered')) fail(`${text} is ${next.state} after ${attempt.status}`);
  const isGone = attempt.status === 410;
  if (isGone && laneState.disabledReason === undefined) fail(`${text} does not disable its webhook`);
  if (!isFailure && laneState.disabledReason !== undefined) fail(`${text} disables its webhook`);
  if (isFailure === (laneState.failingSince === undefined)) fail(`${text} does not tell since when`);
  if (laneState.generation !== settings.generation) fail(`${text} speaks of another generation`);
  const until = pauseOf(attempt, endedAt);
  if (until !== undefined && (laneState.pausedUntil ?? 0) < until - offMs) fail(`${text} does not pause`);
  if (!isFailure || isGone) return;
  const made = Math.max(0, step) + 1;
  const delay = schedule[made];
  if ((delay === undefined) !== (next.state === 'failed')) {
    fail(`${text} is ${next.state} after ${made} attempts`);
  }
  if (delay === undefined || next.state !== 'pending') return;
  const off = Math.abs(next.due - endedAt - delay);
  if (off > 0.1 * delay + offMs) fail(`${text} is due ${next.due - endedAt} ms later, not ${delay}`);
  if (next.step !== made) fail(`${text} has made ${next.step} attempts, not ${made}`);
}
