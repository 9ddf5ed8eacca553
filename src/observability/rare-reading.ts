import { setTimeout as pause } from 'node:timers/promises';
import { observability as limits } from '../limits.ts';

/** When it was read, by a clock that never goes back. */
type LastRead<T> = { value: T; at: number };

/**
 * Reads an expensive value rarely: at most a twentieth of the time, and only on demand. A caller waits briefly for a
 * new value and otherwise gets the last one: undefined when there is none.
 * @param onFailure called with the first of consecutive failures
 */
export function readRarely<T>(
  read: () => Promise<T>,
  onFailure: (error: unknown) => void,
): () => Promise<LastRead<T> | undefined> {
  let last: LastRead<T> | undefined;
  let nextAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;
  let fails = false;

  async function refresh(): Promise<void> {
    const begin = performance.now();
    try {
      last = { value: await read(), at: performance.now() };
      fails = false;
    } catch (error) {
      // The age of the last value keeps growing.
      if (!fails) onFailure(error);
      fails = true;
    } finally {
      const end = performance.now();
      nextAt = end + Math.max(limits.readEveryMs, 19 * (end - begin));
      underWay = undefined;
    }
  }

  return async () => {
    if (!underWay && performance.now() < nextAt) return last;
    underWay ??= refresh();
    const patience = new AbortController();
    const { signal } = patience;
    await Promise.race([underWay, pause(limits.readMs, undefined, { signal }).catch(() => {})]);
    patience.abort();
    return last;
  };
}
