import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 20_000;
const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

/**
 * Asks repeatedly until the answer is defined; rejects after 20 s, or another time. The longer it has waited, the less
 * often it asks: otherwise the questions would take most of the processor.
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    const waited = performance.now() - start;
    if (waited > patienceMs) throw new Error(`No ${what} in time.`);
    await delay(Math.min(SHORTEST_PAUSE_MS + waited / 20, LONGEST_PAUSE_MS));
  }
}
