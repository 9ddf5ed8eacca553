import { setTimeout as pause } from 'node:timers/promises';
import { observability as limits } from '../limits.ts';

/** What was read the last time, and when, by a clock that never goes back. */
export type LastRead<T> = { value: T; at: number };

/**
 * Reads what is not cheap so rarely that it takes a twentieth of the time at most, and only while somebody asks. Whoever
 * asks waits a little for what is new and gets, failing that, what is known from before: undefined when nothing is.
 *
 * @param onFailure called with the first of failures that follow on each other
 */
export function seldom<T>(
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
      // The age of what is known grows.
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
