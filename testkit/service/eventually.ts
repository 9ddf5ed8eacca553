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

/** Lets tests wait for what arrives. `wake` says that something has. */
export function watchArrivals() {
  const waiting = new Set<() => void>();
  return {
    wake(): void {
      for (const check of waiting) check();
    },
    /**
     * Resolves with the first value that `look` finds, which is called at once and whenever something arrives. Rejects
     * with what it throws and, after 20 s, with what is `missing`.
     */
    until<T>(look: () => T | undefined, missing: () => string): Promise<T> {
      return new Promise((resolve, reject) => {
        const settle = (act: () => void): void => {
          clearTimeout(timer);
          waiting.delete(check);
          act();
        };
        const check = (): void => {
          try {
            const found = look();
            if (found !== undefined) settle(() => resolve(found));
          } catch (error) {
            settle(() => reject(error));
          }
        };
        const timer = setTimeout(() => settle(() => reject(new Error(missing()))), PATIENCE_MS);
        waiting.add(check);
        check();
      });
    },
  };
}
