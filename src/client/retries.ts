import { pause } from './deadlines.ts';
import { PlantStoreError } from './plant-store-error.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** Who is asked to wait longer learns it from the error, rather than from a call that does not return. */
const LONGEST_RETRY_AFTER_SECONDS = 60;

/**
 * Attempts until one succeeds, or fails in a way that stays. Every operation can be repeated: a GET and a PATCH by
 * their nature, a POST by its key, and a DELETE because what is gone is gone.
 */
export async function retried<Answer>(
  attempt: () => Promise<Answer>,
  { retries, signal, gone }: { retries: number; signal: AbortSignal | undefined; gone: Answer | undefined },
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
      const isLong = (error.retryAfter ?? 0) > LONGEST_RETRY_AFTER_SECONDS;
      // Written so that a number of retries that is none makes none.
      if (!(tries < retries) || isLong || !passes(error)) throw error;
      await pause(pauseBehind(tries, error), signal);
    }
  }
}

/** Whether the next attempt may fare better. */
export function passes({ error, status }: PlantStoreError): boolean {
  return error === 40901 || status === undefined || [408, 429, 502, 503, 504].includes(status);
}

/** Milliseconds: what the answer asks for, and more each time, by chance, so that clients do not all come at once. */
export function pauseBehind(
  tries: number,
  { retryAfter = 0 }: PlantStoreError,
  first = FIRST_PAUSE_MS,
): number {
  return 1000 * retryAfter + Math.min(first * 2 ** tries, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}
