import { setTimeout as pause } from 'node:timers/promises';
import { ApiFailure } from './api-failure.ts';
import { retrying } from './limits.ts';
import { say } from './terminal.ts';

export type Retries = {
  /** A service that has answered before is waited for when it is gone; one that never did is not. */
  isKnown?: boolean;
  /** Ends the waiting: what went wrong last is thrown. */
  signal?: AbortSignal;
  /** Said with the first failure: what a person needs who ends the program now. */
  hint?: string;
};

/** Does what may be done again until it succeeds, is refused for good, or has been tried for `retrying.giveUpMs`. */
export async function persist<T>(
  work: () => Promise<T>,
  { isKnown = false, signal, hint = '' }: Retries = {},
): Promise<T> {
  let failedAt: number | undefined;
  let waitMs: number = retrying.waitMs.first;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted || !(error instanceof ApiFailure) || !mayPass(error, isKnown)) throw error;
      const now = performance.now();
      const wait = Math.max(waitMs, error.retryAfterMs ?? 0);
      if (now - (failedAt ?? now) + wait > retrying.giveUpMs) throw error;
      if (failedAt === undefined) {
        say(`${error.message} It is tried again for ${retrying.giveUpMs / 1000} s.${hint}`);
      }
      failedAt ??= now;
      // An abort ends the wait, and the last try says how it is.
      await pause(wait, undefined, signal ? { signal } : {}).catch(() => {});
      waitMs = Math.min(2 * waitMs, retrying.waitMs.most);
    }
  }
}

/** What overload, a restart or a proxy without its service answers: later it may be different. */
const PASSING: readonly (number | undefined)[] = [408, 429, 502, 503, 504];
const STILL_RUNNING = 40901;

function mayPass({ status, code, lacks }: ApiFailure, isKnown: boolean): boolean {
  if (lacks === 'service') return isKnown;
  return lacks === 'answer' || PASSING.includes(status) || code === STILL_RUNNING;
}
