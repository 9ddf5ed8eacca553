/** Time as it passes and work that is put off: passed in, so that a simulation can make time pass. */
export type Timers = {
  /** Milliseconds since any beginning; never goes back. */
  elapsed(): number;
  /** After what the present turn of the event loop began. */
  soon(callback: () => void): void;
  /** Returns what cancels it. */
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

/** Of a timer of Node's. Whoever waits longer finds nothing to do then and waits again. */
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
