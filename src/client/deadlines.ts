import { PlantStoreError } from './plant-store-error.ts';

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
 * Aborts the controller when the step, which heeds it, takes longer.
 *
 * @throws PlantStoreError with that message then
 */
export async function within<T>(
  ms: number,
  ending: AbortController,
  message: string,
  step: () => Promise<T>,
): Promise<T> {
  const late = new PlantStoreError(message);
  const timer = setTimeout(() => ending.abort(late), ms);
  try {
    return await step();
  } catch (error) {
    throw ending.signal.reason === late ? late : error;
  } finally {
    clearTimeout(timer);
  }
}
