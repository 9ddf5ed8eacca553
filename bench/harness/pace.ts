import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { monotonicMs } from './clock.ts';

export type Pace = {
  /**
   * Begins nothing more, and waits for what has begun: the milliseconds that each took from the moment when it was
   * due. Rejects when one of them failed.
   */
  end(): Promise<number[]>;
};

/** What the metronome is told: when the first is due, and whether it is over (1 in its only place). */
export type Beat = { start: number; everyMs: number; ended: Int32Array };

/** Until the metronome's thread runs. */
const START_MS = 200;

/**
 * Begins something at a fixed rate, each in its time, whether or not those before it have ended: else a slow
 * server would be asked less and look better. `begin` gets the number and the moment (`monotonicMs`) at which it
 * was due; a request that went out late counts from that moment, too.
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
    // Seen again in `end`; until then a failure must not end the process.
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

/** What so many of a hundred are at most. */
export function percentile(times: number[], percent: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
}
