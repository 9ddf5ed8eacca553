import type { Outcome } from './port.ts';
import type { Rules } from './rules.ts';

export type Ledger = ReturnType<typeof createLedger>;

/** Outcomes waiting to be stored: one batch at a time, retried when the store failed. */
export function createLedger({ unrecorded, recordEveryMs, storeRetryMs }: Rules) {
  const { first, most } = storeRetryMs;
  let waiting: Outcome[] = [];
  let underWay: Outcome[] = [];
  /** When the first of each was added. */
  const since = { waiting: 0, underWay: 0 };
  let retry = { ms: 0, at: -Infinity };
  let begunAt = -Infinity;

  const count = () => waiting.length + underWay.length;
  const nextAt = () => Math.max(retry.at, begunAt + recordEveryMs);

  /** The store failed: wait before the next call. */
  function failed(now: number): void {
    // Concurrent calls count as one.
    if (now < retry.at) return;
    const ms = Math.min(most, Math.max(first, 2 * retry.ms));
    retry = { ms, at: now + ms };
  }

  return {
    add(outcome: Outcome, now: number): void {
      if (waiting.push(outcome) === 1) since.waiting = now;
    },
    /** What to record now. The caller must call `recorded` for it. */
    next(now: number): readonly Outcome[] | undefined {
      if (underWay.length > 0 || waiting.length === 0 || now < nextAt()) return undefined;
      begunAt = now;
      underWay = waiting;
      since.underWay = since.waiting;
      waiting = [];
      return underWay;
    },
    /** Ends the batch in progress and returns it; empty when the store failed, since it is retried. */
    recorded(isDone: boolean, now: number): readonly Outcome[] {
      const done = isDone ? underWay : [];
      if (isDone) retry = { ms: 0, at: -Infinity };
      else {
        waiting = [...underWay, ...waiting];
        since.waiting = since.underWay;
        failed(now);
      }
      underWay = [];
      return done;
    },
    failed,
    retryAt: () => retry.at,
    /** When to record next; undefined without outcomes. */
    wakeAt: () => (underWay.length > 0 || waiting.length === 0 ? undefined : nextAt()),
    isFull: () => count() >= unrecorded,
    isEmpty: () => count() === 0,
    /** The outcomes not yet recorded, and the age of the first; 0 when there is none. */
    reading(now: number) {
      const commands = count();
      const first = underWay.length > 0 ? since.underWay : since.waiting;
      return { commands, ageMs: commands > 0 ? now - first : 0 };
    },
  };
}
