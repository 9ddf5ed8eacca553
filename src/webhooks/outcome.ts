import { type Attempt, failureOf } from './attempt.ts';
import type { Claim, DeliveryNext, DeliveryOutcome, Disable } from './port.ts';
import { pauseOf } from './retry-after.ts';
import { nextAttempt, type Schedule } from './schedule.ts';

export type OutcomeRules = {
  schedule: Schedule;
  /** A webhook whose every attempt failed for so long is disabled. */
  disableAfterMs: number;
};

/** The statuses whose `Retry-After` speaks for the whole receiver. */
const PAUSING = [429, 503];
const GONE = 410;

/**
 * What follows from an attempt: for its delivery, and for its webhook.
 *
 * @param now when the attempt ended
 * @param random01 a random number from 0 to 1, for the spread of the next delay
 */
export function outcomeOf(
  claim: Claim,
  attempt: Attempt,
  { schedule, disableAfterMs }: OutcomeRules,
  now: number,
  random01: number,
): DeliveryOutcome {
  const { webhook, event, fence, step } = claim;
  const reason = failureOf(attempt);
  const pauseUntil = PAUSING.includes(attempt.status ?? 0) ? pauseOf(attempt.retryAfter, now) : undefined;
  const disable =
    reason === undefined ? undefined : ending(attempt, webhook.failingSince, disableAfterMs, now);
  const { at, durationMs, address, status, excerpt, error } = attempt;
  return {
    webhook: webhook.id,
    event: event.id,
    fence,
    step,
    url: webhook.url,
    attempt: { at, durationMs, address, status, excerpt, error },
    reason,
    next: reason === undefined ? { state: 'delivered' } : next(),
    pauseUntil,
    disable,
  };

  function next(): DeliveryNext {
    // It waits for its receiver, who may come back: the schedule goes on where it was.
    if (attempt.status === GONE) return { state: 'pending', due: now, step };
    return nextAttempt(schedule, step + 1, now, random01);
  }
}

function ending(
  { status }: Attempt,
  failingSince: number | undefined,
  disableAfterMs: number,
  now: number,
): Disable | undefined {
  if (status === GONE) {
    return { reason: 'The receiver answered 410: it is gone.', ifFailingSince: undefined };
  }
  if (failingSince === undefined || now - failingSince < disableAfterMs) return undefined;
  const since = new Date(failingSince).toISOString();
  return { reason: `Every attempt has failed since ${since}.`, ifFailingSince: failingSince };
}
