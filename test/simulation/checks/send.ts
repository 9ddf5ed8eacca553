import type { Attempt } from '../../../src/webhooks/sending/attempt.ts';
import type { StampedSettings } from '../stores/memory-store.ts';

/** One observed request. */
export type Send = {
  process: string;
  webhook: string;
  url: string;
  event: string;
  generation: number;
  /** Identifies the row in the store. */
  made: number;
  isAsked: boolean;
  at: number;
  settings: StampedSettings;
  /** `gone`: its process ended, or it was cut short. */
  state: 'under way' | 'answered' | 'not made' | 'gone' | 'recorded';
  attempt: Attempt | undefined;
  endedAt: number | undefined;
};

/** Until when the receiver requests a pause. */
export function pauseOf({ status, retryAfter }: Attempt, endedAt: number): number | undefined {
  const asks = (status === 429 || status === 503) && retryAfter !== undefined;
  return asks ? endedAt + 1000 * Number(retryAfter) : undefined;
}
