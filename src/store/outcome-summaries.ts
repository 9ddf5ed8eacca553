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
    successAt: reason === undefined ? attempt.at : before?.successAt,
    failureAt: reason === undefined ? before?.failureAt : attempt.at,
  };
}

function later(before: LaneState, after: LaneState): LaneState {
  if (after.generation !== before.generation) return after.generation > before.generation ? after : before;
  // A disabled webhook stays disabled, whatever was in flight beside the attempt that disabled it.
  return { ...after, disabledReason: before.disabledReason ?? after.disabledReason };
}
