import { type Attempt, failureOf } from '../sending/attempt.ts';
import type { Rules } from './rules.ts';

/**
 * How the last attempts of a lane ended. A lane whose last attempt got no complete response is silent; a lane that
 * fails repeatedly is probed, with growing pauses. The first success ends it.
 */
export type Trouble = {
  failures: number;
  isSilent: boolean;
  /** Before the next probe. */
  pauseMs: number;
  opensAt: number;
  /** When the last attempt ended. */
  lastAt: number;
};

/** How a request ended: with success, with a failing response, or without a complete response. */
export type AnswerKind = 'success' | 'failure' | 'silence';

export function answerKindOf(attempt: Attempt): AnswerKind {
  if (attempt.error !== undefined) return 'silence';
  return failureOf(attempt) === undefined ? 'success' : 'failure';
}

export function noTrouble(lastAt = -Infinity): Trouble {
  return { failures: 0, isSilent: false, pauseMs: 0, opensAt: 0, lastAt };
}

/** Whether one request at a time is enough. */
export function isProbed({ isSilent, failures }: Trouble, { failuresToProbe }: Rules): boolean {
  return isSilent || failures >= failuresToProbe;
}

/**
 * The trouble of a lane after an attempt.
 * @param isLast whether no other is in flight: concurrent attempts count as one probe
 */
export function troubleAfter(
  before: Trouble,
  kind: AnswerKind,
  isLast: boolean,
  { failuresToProbe, probeMs }: Rules,
  now: number,
): Trouble {
  if (kind === 'success') return noTrouble(now);
  const failures = before.failures + 1;
  const trouble = { ...before, failures, isSilent: kind === 'silence', lastAt: now };
  if (failures < failuresToProbe) return trouble;
  if (before.pauseMs === 0) trouble.pauseMs = probeMs.first;
  else if (isLast) trouble.pauseMs = Math.min(2 * before.pauseMs, probeMs.most);
  trouble.opensAt = now + trouble.pauseMs;
  return trouble;
}
