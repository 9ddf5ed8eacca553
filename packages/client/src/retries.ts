import { pause } from './deadlines.ts';
import { PlantStoreError } from './plant-store-error.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** For a longer wait, the call fails and the error says how long, instead of a call that does not return. */
const LONGEST_RETRY_AFTER_SECONDS = 60;

/** What to do between attempts. */
export type Retrying<Answer> = {
  /**
   * Milliseconds to wait after a failed attempt, the first being 0; one that waits itself returns 0. Throws the error to
   * give up.
   */
  waitAfter(error: PlantStoreError, tries: number): number | Promise<number>;
  signal: AbortSignal | undefined;
  /** For a delete: the result if the object is gone. */
  gone: Answer | false;
};

export type WaitAfter = Retrying<unknown>['waitAfter'];

/**
 * Repeats the attempt until it succeeds or may not be retried. Every operation can be repeated: GET and PATCH by
 * nature, POST by its key, and DELETE because a deleted object stays deleted.
 */
export async function retried<Answer>(
  attempt: () => Promise<Answer>,
  { waitAfter, signal, gone }: Retrying<Answer>,
): Promise<Answer> {
  let isDoubtful = false;
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof PlantStoreError)) throw error;
      // An earlier attempt with an unknown outcome may have deleted it. 40400 says that the path is wrong.
      if (gone && isDoubtful && error.status === 404 && Number(error.error) > 40400) return gone;
      isDoubtful ||= mayBeDone(error);
      await pause(await waitAfter(error, tries), signal);
    }
  }
}

/** Allows this many attempts after the first one. */
export function retriesOf(count: number): WaitAfter {
  return (error, tries) => {
    // Written so that NaN retries means none, and a missing `retryAfter` does not prevent a retry.
    if (tries < count && mayPass(error) && !(Number(error.retryAfter) > LONGEST_RETRY_AFTER_SECONDS))
      return pauseAfter(tries, error);
    throw error;
  };
}

/**
 * Whether a retry may succeed: the one decision for calls, streams, the command line and its imports.
 * @param mayFault whether a fault of the service (500) may be retried. The request itself may cause it, so only
 * long-running work retries it, a limited number of times: a stream and an import.
 */
export function mayPass({ error, status }: PlantStoreError, mayFault = false): boolean {
  return (
    error === 40901 || [undefined, 408, 429, 502, 503, 504].includes(status) || (mayFault && status === 500)
  );
}

/**
 * Whether a failed request may have taken effect: its outcome is unknown or pending, or no answer came. It has not if
 * there was no connection, or none with a trusted certificate, but only Node says so; browsers give no reason. The one
 * decision for calls, the command line and its imports.
 */
export function mayBeDone({ error, cause }: Pick<PlantStoreError, 'error' | 'cause'>): boolean {
  // These members are read from whatever was thrown; `fetch` of Node keeps the reason in the cause.
  const thrown = cause as { code: string; cause?: { code?: string; message?: string } };
  return (
    [undefined, 40901, 50000, 50301].includes(error) &&
    !/REFUSED|NOTFOUND|EAI_AGAIN|UNREACH|CONNECT_TIMEOUT|CERT|VERIFY|ERR_TLS|SSL_WRONG|bad port/.test(
      // A port that `fetch` refuses has no code.
      thrown?.cause?.code ?? thrown?.code ?? thrown?.cause?.message,
    )
  );
}

/** Milliseconds: what the response asks for, plus a growing random time, so that clients do not all retry at once. */
export function pauseAfter(
  tries: number,
  { retryAfter = 0 }: PlantStoreError,
  first = FIRST_PAUSE_MS,
): number {
  return 1000 * retryAfter + (Math.min(first * 2 ** tries, LONGEST_PAUSE_MS) * (1 + Math.random())) / 2;
}
