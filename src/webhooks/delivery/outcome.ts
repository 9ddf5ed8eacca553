import { delivery } from '../../limits.ts';
import { timeText } from '../../runtime.ts';
import { type Attempt, failureOf } from '../sending/attempt.ts';
import type { DueDelivery, LaneSettings, LaneState, NextState, Outcome } from './port.ts';
import type { Rules } from './rules.ts';
import { nextAttempt } from './schedule.ts';

/** A request: its delivery, its lane and its settings. */
export type Sent = { webhook: string; fence: number; delivery: DueDelivery; settings: LaneSettings };

/** The statuses whose `Retry-After` applies to the whole receiver. */
const PAUSING = [429, 503];
const GONE = 410;

/**
 * The consequences of an attempt for its delivery and its webhook.
 * @param now when the attempt ended
 */
export function outcomeOf(
  { webhook, fence, delivery, settings }: Sent,
  attempt: Attempt,
  rules: Rules,
  now: number,
): Outcome {
  const { event, generation, step } = delivery;
  const reason = failureOf(attempt);
  const { at, durationMs, address, status, excerpt, error } = attempt;
  const laneState = stateAfter(settings, attempt, rules, now);
  return {
    webhook,
    fence,
    event: event.id,
    generation,
    step,
    attempt: { at, durationMs, address, status, excerpt, error },
    reason,
    next: reason === undefined ? { state: 'delivered' } : next(),
    laneState,
    begins: undefined,
  };

  function next(): NextState {
    const made = Math.max(0, step);
    // It waits in case the receiver comes back: the schedule continues where it was.
    if (status === GONE) return { state: 'pending', due: now, step: made };
    return nextAttempt(rules.schedule, made + 1, now, rules.random());
  }
}

/**
 * The outcome of a delivery during which processes died again and again: a failed attempt. If it was the cause, it ends
 * processes only as often as its schedule has attempts; if it was in flight by chance, nothing is lost.
 */
export function poisonedOutcome(sent: Sent, rules: Rules, now: number): Outcome {
  const { generation, pausedUntil, failingSince } = sent.settings;
  const error = `The service ended ${sent.delivery.suspicions} times while it sent this.`;
  return {
    ...outcomeOf(sent, { at: now, durationMs: 0, error }, rules, now),
    // It says nothing about the receiver.
    laneState: { generation, pausedUntil, failingSince, disabledReason: undefined },
  };
}

function stateAfter(
  settings: LaneSettings,
  attempt: Attempt,
  { disableAfterMs }: Rules,
  now: number,
): LaneState {
  const { generation } = settings;
  const isFailure = failureOf(attempt) !== undefined;
  const failingSince = isFailure ? (settings.failingSince ?? now) : undefined;
  const asked = PAUSING.includes(attempt.status ?? 0) ? pauseOf(attempt.retryAfter, now) : undefined;
  const pausedUntil = Math.max(asked ?? 0, settings.pausedUntil ?? 0) || undefined;
  const disabledReason = isFailure
    ? reasonToDisable(attempt, settings.failingSince, disableAfterMs, now)
    : undefined;
  return { generation, pausedUntil, failingSince, disabledReason };
}

/** Why the webhook is disabled; undefined when it is not. */
function reasonToDisable(
  { status }: Attempt,
  failingSince: number | undefined,
  disableAfterMs: number,
  now: number,
): string | undefined {
  if (status === GONE) return 'The receiver answered 410: it is gone.';
  if (failingSince === undefined || now - failingSince < disableAfterMs) return undefined;
  return `Every attempt has failed since ${timeText(failingSince)}.`;
}

const SECONDS = /^\d+$/;
/** The three date formats of HTTP (RFC 9110 §5.6.7). */
const DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/**
 * Until when a `Retry-After` header (RFC 9110 §10.2.3) asks to wait, at most 24 hours; undefined for an invalid or past
 * one.
 */
export function pauseOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const until = SECONDS.test(header) ? now + Number(header) * 1000 : dateOf(header);
  return until > now ? Math.min(until, now + delivery.pauseMs) : undefined;
}

function dateOf(header: string): number {
  if (!DATE.test(header)) return Number.NaN;
  return Date.parse(header.endsWith('GMT') ? header : `${header} GMT`);
}
