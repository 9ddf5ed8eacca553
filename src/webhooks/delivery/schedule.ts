import { delivery } from '../../limits.ts';
import type { NextState } from './port.ts';

/** One delay per attempt, in milliseconds: from the event to the first attempt, then between attempts. */
export type Schedule = readonly number[];

export const DEFAULT_SCHEDULE = '0s,5s,5m,30m,2h,5h,10h,14h,20h,24h';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `WEBHOOK_RETRY_SCHEDULE`. Throws an `Error` whose message names every invalid entry. */
export function parseSchedule(text: string): Schedule {
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.length > delivery.attempts) {
    throw new Error(
      `The retry schedule has ${entries.length} entries; at most ${delivery.attempts} are possible.`,
    );
  }
  const delays = entries.map(delayOf);
  const bad = entries.filter((_, n) => delays[n] === undefined);
  if (bad.length > 0) {
    const quoted = bad.map((entry) => `"${entry}"`).join(', ');
    throw new Error(
      `The retry schedule must be delays such as 5s, separated by commas, in ms, s, m, h or d, each at most 30d; wrong: ${quoted}.`,
    );
  }
  return delays.filter((delay) => delay !== undefined);
}

/** Reads one delay such as `5d`, in milliseconds. Throws an `Error` that names the valid form. */
export function parseDelay(text: string): number {
  const delay = delayOf(text);
  if (delay !== undefined) return delay;
  throw new Error(
    `The delay must be a number in ms, s, m, h or d, such as 5d, and at most 30d; wrong: "${text}".`,
  );
}

function delayOf(entry: string): number | undefined {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(entry) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  const delay = Number(digits) * (UNITS[unit] ?? Number.NaN);
  return delay <= delivery.retryDelayMs ? delay : undefined;
}

/**
 * The state of a delivery after a failed attempt.
 * @param step attempts since its schedule began, including the failed one
 * @param random01 a random number from 0 to 1: it varies the delay by ±10 %, so that receivers that failed together
 *   are not retried together
 */
export function nextAttempt(
  schedule: Schedule,
  step: number,
  now: number,
  random01: number,
): Exclude<NextState, { state: 'delivered' }> {
  const delay = schedule[step];
  if (delay === undefined) return { state: 'failed' };
  const spread = 1 + delivery.jitter * (2 * random01 - 1);
  return { state: 'pending', step, due: now + Math.round(delay * spread) };
}
