import { pause } from './deadlines.ts';
import { PlantStoreError } from './plant-store-error.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** Who is asked to wait longer learns it from the error, rather than from a call that does not return. */
const LONGEST_RETRY_AFTER_SECONDS = 60;

/** What to do between attempts. */
export type Retrying<Answer> = {
  /** Milliseconds to wait after an attempt that failed, the first being 0; undefined to give up. */
  waitAfter(error: PlantStoreError, tries: number): number | undefined;
  signal: AbortSignal | undefined;
  /** For what removes something: the answer when it is gone. */
  gone: Answer | undefined;
};

/**
 * Attempts until one succeeds, or is not to be repeated. Every operation can be repeated: a GET and a PATCH by their
 * nature, a POST by its key, and a DELETE because what is gone is gone.
 */
export async function retried<Answer>(
  attempt: () => Promise<Answer>,
  { waitAfter, signal, gone }: Retrying<Answer>,
): Promise<Answer> {
  let mayBeDone = false;
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof PlantStoreError)) throw error;
      // An attempt whose outcome nobody told may be what removed it.
      if (gone && mayBeDone && (error.error === 40401 || error.error === 40402)) return gone;
      mayBeDone ||= error.error === undefined || error.error === 50301;
      const ms = waitAfter(error, tries);
      if (ms === undefined) throw error;
      await pause(ms, signal);
    }
  }
}

/** For so many attempts after the first one. */
export function retriesOf(count: number): Retrying<unknown>['waitAfter'] {
  // Written so that a number of retries that is none makes none, and an answer without `retryAfter` is no obstacle.
  return (error, tries) =>
    tries < count && mayPass(error) && !(Number(error.retryAfter) > LONGEST_RETRY_AFTER_SECONDS)
      ? pauseAfter(tries, error)
      : undefined;
}

/**
 * Whether the next attempt may fare better: the one decision of calls, streams, the command line and its imports.
 *
 * @param mayFault whether a fault of the service (500) counts as passing. The request itself may bring it about, so only
 *   what goes on for long tries again, and not for ever: a stream, and an import.
 */
export function mayPass(
  { error, status }: Pick<PlantStoreError, 'error' | 'status'>,
  mayFault = false,
): boolean {
  return error === 40901 || [undefined, 408, 429, 502, 503, 504, mayFault ? 500 : 0].includes(status);
}

/** Milliseconds: what the answer asks for, and more each time, by chance, so that clients do not all come at once. */
export function pauseAfter(
  tries: number,
  { retryAfter = 0 }: PlantStoreError,
  first = FIRST_PAUSE_MS,
): number {
  return 1000 * retryAfter + Math.min(first * 2 ** tries, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}
