import { PlantStoreError } from './plant-store-error.ts';

/** The longest `setTimeout`, 24 days. It treats a longer delay as none. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * A controller that is aborted with the signal until it is unlinked. `AbortSignal.any` with a timeout would keep a
 * timer for every finished request.
 */
export function linkedTo(signal: AbortSignal | undefined): { ending: AbortController; unlink: () => void } {
  const ending = new AbortController();
  const end = () => ending.abort(signal?.reason);
  signal?.addEventListener('abort', end);
  if (signal?.aborted) end();
  return { ending, unlink: () => signal?.removeEventListener('abort', end) };
}

/**
 * The result of the step. If it takes too long, aborts the controller. An abort ends the wait at once, even if the
 * step ignores it, as a program's own token function may.
 * @throws PlantStoreError with that message when it took longer, else the controller's abort reason
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
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { ending, unlink } = linkedTo(signal);
  // Waits for what never ends.
  await within(ms, ending, '', () => new Promise(() => {})).catch(() => {});
  unlink();
  signal?.throwIfAborted();
}
