import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../measure/clock.ts';
import { untilNoneLeft } from '../measure/wait.ts';
import { type Receiver, startReceiver } from '../servers/receiver.ts';
import type { Server } from '../servers/server.ts';
import { askFor } from './client.ts';
import { pace } from './pace.ts';

/** Receivers in the process that also creates the plants, so that one clock measures how long an event takes. */
export type Arrivals = {
  /** One for each receiver. */
  urls: string[];
  /**
   * Creates plants at a rate for a time. Returns the milliseconds from when each was due to be sent until its event
   * arrived, at each receiver. Throws when one does not arrive.
   */
  measure(service: Server, load: { perSecond: number; seconds: number }): Promise<number[]>;
  stop(): Promise<void>;
};

/** A plant whose event is still missing somewhere. */
type Expected = { due: number; missing: Set<Receiver> };

export async function startArrivals(count: number): Promise<Arrivals> {
  const receivers: Receiver[] = [];
  /** By the plant's name. */
  const expected = new Map<string, Expected>();
  let times: number[] = [];
  let created = 0;

  function arrive(name: string, receiver: Receiver | undefined): void {
    const plant = expected.get(name);
    if (!receiver || !plant?.missing.delete(receiver)) return;
    times.push(monotonicMs() - plant.due);
    if (plant.missing.size === 0) expected.delete(name);
  }

  for (let i = 0; i < count; i++) {
    receivers.push(
      await startReceiver(({ body, response }) => {
        arrive(JSON.parse(body).name, receivers[i]);
        response.writeHead(204).end();
      }),
    );
  }

  return {
    urls: receivers.map(({ url }) => url),
    async measure(service, { perSecond, seconds }) {
      times = [];
      const creates = pace(perSecond, (_, due) => {
        const name = `Plant ${++created}`;
        expected.set(name, { due, missing: new Set(receivers) });
        return askFor(`${service.url}/plants`, { method: 'POST', body: JSON.stringify({ name }) });
      });
      await sleep(seconds * 1000);
      await creates.end();
      await untilNoneLeft('plants that have not arrived everywhere', () => expected.size);
      return times;
    },
    async stop() {
      for (const receiver of receivers) await receiver.down();
    },
  };
}
