import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 20_000;
const PAUSE_MS = 5;

/** Asks again and again until the answer is not undefined; rejects after 20 s, or another time. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`There was no ${what} in time.`);
    await delay(PAUSE_MS);
  }
}
