import { PlantStoreError } from './plant-store-error.ts';

/** What `setTimeout` holds, 24 days. It takes more for nothing, and comes at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * A controller that is aborted when the signal is, until it is unlinked. Not `AbortSignal.any` with a time-out: that
 * would keep a timer for each request that was answered long ago.
 */
export function linkedTo(signal: AbortSignal | undefined): { ending: AbortController; unlink: () => void } {
  const ending = new AbortController();
  const end = () => ending.abort(signal?.reason);
  signal?.addEventListener('abort', end);
  if (signal?.aborted) end();
  return { ending, unlink: () => signal?.removeEventListener('abort', end) };
}

/**
 * What the step gives, unless it takes longer: then the controller is aborted. Whatever aborts it ends the wait at once;
 * not every step heeds it, such as a program's own way to get a token.
 *
 * @throws PlantStoreError with that message when it took longer, else what the controller was aborted for
 */
export async function within<T>(
  ms: number,
  ending: AbortController,
  message: string,
  step: () => Promise<T>,
): Promise<T> {
  const { signal } = ending;
  signal.throwIfAborted();
  const timer = setTimeout(() => ending.abort(new PlantStoreError(message)), Math.min(ms, LONGEST_TIMER_MS));
  let giveUp = () => {};
  const ended = new Promise<never>((_, reject) => {
    giveUp = () => reject(signal.reason);
    signal.addEventListener('abort', giveUp);
  });
  try {
    return await Promise.race([ended, step()]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}

/** Rejects with the signal's reason when it is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}
