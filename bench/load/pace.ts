import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { monotonicMs } from '../measure/clock.ts';

export type Pace = {
  /**
   * Starts nothing more and waits for what has started. Returns the milliseconds that each took from when it was due.
   * Rejects when one of them failed.
   */
  end(): Promise<number[]>;
};

/** Shared with the metronome: when the first is due, and whether it is over (1). */
export type Beat = { start: number; everyMs: number; ended: Int32Array };

/** Until the metronome's thread runs. */
const START_MS = 200;

/**
 * Starts work at a fixed rate, each on time, whether or not earlier work has ended: otherwise a slow server would get
 * fewer requests and look better. `begin` gets the number and the due time (`monotonicMs`); late requests count from
 * their due time, too.
 */
export function pace(perSecond: number, begin: (n: number, due: number) => Promise<unknown>): Pace {
  const everyMs = 1000 / perSecond;
  const start = monotonicMs() + START_MS;
  const ended = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const beat: Beat = { start, everyMs, ended };
  const metronome = new Worker(new URL('./metronome.ts', import.meta.url), { workerData: beat });
  const begun: Promise<number>[] = [];

  async function timed(n: number): Promise<number> {
    const due = start + n * everyMs;
    await begin(n, due);
    return monotonicMs() - due;
  }

  metronome.on('message', (n: number) => {
    const one = timed(n);
    // `end` handles it; until then a failure must not end the process.
    one.catch(() => {});
    begun.push(one);
  });
  return {
    async end() {
      const exited = once(metronome, 'exit');
      Atomics.store(ended, 0, 1);
      Atomics.notify(ended, 0);
      await exited;
      return Promise.all(begun);
    },
  };
}

/** The given percentile. */
export function percentile(times: number[], percent: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
}
