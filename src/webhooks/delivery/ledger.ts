import type { Outcome } from './port.ts';

/** Outcomes on their way to the store: one batch at a time, and again when the store failed. */
export type Ledger = {
  add(outcome: Outcome): void;
  /** What is to be recorded now. `recorded` must be called for it. */
  next(now: number): readonly Outcome[] | undefined;
  /** The batch that was under way; empty when the store failed, since it is tried again. */
  recorded(isDone: boolean, now: number): readonly Outcome[];
  /** The store failed: it is left alone for a while. */
  failed(now: number): void;
  retryAt(): number;
  /** When there is something to record; undefined while there is not. */
  wakeAt(): number | undefined;
  isFull(): boolean;
  isEmpty(): boolean;
};

export type LedgerRules = {
  /** Outcomes that are not recorded yet; no request begins while there are more. */
  unrecorded: number;
  /** A batch begins so long after the one before, so that each commit is shared by many when there are many. */
  recordEveryMs: number;
  storeRetryMs: { first: number; most: number };
};

export function createLedger({ unrecorded, recordEveryMs, storeRetryMs }: LedgerRules): Ledger {
  const { first, most } = storeRetryMs;
  let waiting: Outcome[] = [];
  let underWay: Outcome[] = [];
  let retry = { ms: 0, at: Number.NEGATIVE_INFINITY };
  let begunAt = Number.NEGATIVE_INFINITY;

  const nextAt = () => Math.max(retry.at, begunAt + recordEveryMs);

  function failed(now: number): void {
    // Calls that were under way together count as one.
    if (now < retry.at) return;
    const ms = Math.min(most, Math.max(first, 2 * retry.ms));
    retry = { ms, at: now + ms };
  }

  return {
    add: (outcome) => void waiting.push(outcome),
    next(now) {
      if (underWay.length > 0 || waiting.length === 0 || now < nextAt()) return undefined;
      begunAt = now;
      underWay = waiting;
      waiting = [];
      return underWay;
    },
    recorded(isDone, now) {
      const done = isDone ? underWay : [];
      if (isDone) retry = { ms: 0, at: Number.NEGATIVE_INFINITY };
      else {
        waiting = [...underWay, ...waiting];
        failed(now);
      }
      underWay = [];
      return done;
    },
    failed,
    retryAt: () => retry.at,
    wakeAt: () => (underWay.length > 0 || waiting.length === 0 ? undefined : nextAt()),
    isFull: () => waiting.length + underWay.length >= unrecorded,
    isEmpty: () => waiting.length + underWay.length === 0,
  };
}
