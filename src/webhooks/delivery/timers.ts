/** Elapsed time and timers: passed in, so that a simulation can control them. */
export type Timers = {
  /** Milliseconds since some start; never goes back. */
  elapsed(): number;
  /** After everything that the current turn of the event loop starts. */
  soon(callback: () => void): void;
  /** Returns a function that cancels it. */
  later(callback: () => void, ms: number): () => void;
};

export const systemTimers: Timers = {
  elapsed: () => performance.now(),
  soon: (callback) => void setImmediate(callback),
  later(callback, ms) {
    const timer = setTimeout(callback, Math.min(ms, LONGEST));
    return () => clearTimeout(timer);
  },
};

/** The longest Node timer. A longer wait finds nothing to do then and waits again. */
const LONGEST = 2 ** 31 - 1;

/** Resolves after the time, or at once when the signal is aborted. */
export function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = timers.later(done, ms);
    signal.addEventListener('abort', done);
  });
}
