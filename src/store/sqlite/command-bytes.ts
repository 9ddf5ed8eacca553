import type { Outcome } from '../../webhooks/delivery/port.ts';

/** What a command without text of any length is counted as in the queue's bound. */
export const COMMAND_BYTES = 512;

export function bytesOf(outcomes: readonly Outcome[]): number {
  return outcomes.reduce((sum, { attempt }) => sum + COMMAND_BYTES + 2 * (attempt.excerpt?.length ?? 0), 0);
}
