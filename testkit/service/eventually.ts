import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 20_000;
const PAUSE_MS = 5;

/** Asks repeatedly until the answer is defined; rejects after 20 s, or another time. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`No ${what} in time.`);
    await delay(PAUSE_MS);
  }
}
