import { setTimeout as sleep } from 'node:timers/promises';
import { askFor } from './client.ts';

export type Pace = {
  /** Ends the requests; milliseconds that 99 of 100 took at most. Throws when one of them failed. */
  p99(): Promise<number>;
};

/**
 * GETs at a fixed rate. Each is sent in its time, whether or not those before it were answered: else a slow
 * server would be asked less and look better.
 */
export function pace(url: string, perSecond: number): Pace {
  const requests: Promise<number>[] = [];
  const start = performance.now();
  let ended = false;

  async function send(): Promise<void> {
    for (let i = 0; !ended; i++) {
      const wait = start + (i * 1000) / perSecond - performance.now();
      if (wait > 0) await sleep(wait);
      const request = timed(url);
      // Seen again in `p99`; until then a failure must not end the process.
      request.catch(() => {});
      requests.push(request);
    }
  }

  const sending = send();
  return {
    async p99() {
      ended = true;
      await sending;
      const times = (await Promise.all(requests)).sort((a, b) => a - b);
      return times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN;
    },
  };
}

async function timed(url: string): Promise<number> {
  const sent = performance.now();
  await askFor(url);
  return performance.now() - sent;
}
