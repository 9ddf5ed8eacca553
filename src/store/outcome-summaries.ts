import type { LaneState, Outcome } from '../webhooks/delivery/port.ts';

/** What the recorded outcomes of a transaction say about a webhook, which is then written once. */
export type Summary = {
  webhook: string;
  /** To be written while the webhook has its generation. */
  laneState: LaneState;
  successAt: number | undefined;
  failureAt: number | undefined;
};

export function summariesOf(outcomes: readonly Outcome[]): Summary[] {
  const summaries = new Map<string, Summary>();
  for (const outcome of outcomes) {
    const { webhook } = outcome;
    summaries.set(webhook, summarize(summaries.get(webhook), outcome));
  }
  return [...summaries.values()];
}

function summarize(before: Summary | undefined, { webhook, laneState, reason, attempt }: Outcome): Summary {
  return {
    webhook,
    laneState: before ? later(before.laneState, laneState) : laneState,
    // Requests of a webhook may end in another order than they began.
    successAt: reason === undefined ? Math.max(attempt.at, before?.successAt ?? 0) : before?.successAt,
    failureAt: reason === undefined ? before?.failureAt : Math.max(attempt.at, before?.failureAt ?? 0),
  };
}

function later(before: LaneState, after: LaneState): LaneState {
  if (after.generation !== before.generation) return after.generation > before.generation ? after : before;
  // A disabled webhook stays disabled, whatever was in flight beside the attempt that disabled it.
  return { ...after, disabledReason: before.disabledReason ?? after.disabledReason };
}
