import { askFor } from '../load/client.ts';
import { createHistogram, type Histogram } from '../measure/histogram.ts';
import type { Server } from '../servers/server.ts';

/** Clients that create plants as fast as they are answered, and remember what they were told. */
export type CreateLoad = {
  /** Names of plants that were acknowledged, by client, in the order of the answers. */
  acknowledged: readonly (readonly string[])[];
  /** From now on latencies go into a new histogram, which is given back. */
  measure(): Histogram;
  count(): number;
  stop(): Promise<void>;
};

/** @param round stands in the names, so that none comes twice */
export function startCreates(service: Server, clients: number, round: number): CreateLoad {
  const acknowledged: string[][] = Array.from({ length: clients }, () => []);
  let latencies = createHistogram();
  let stopped = false;

  async function client(own: string[], number: number): Promise<void> {
    while (!stopped) {
      const name = `Load ${round}/${number}/${own.length}`;
      const sentAt = performance.now();
      await askFor(`${service.url}/plants`, { method: 'POST', body: JSON.stringify({ name }) });
      latencies.add(performance.now() - sentAt);
      own.push(name);
    }
  }

  const ended = Promise.all(acknowledged.map(client));
  return {
    acknowledged,
    measure: () => {
      latencies = createHistogram();
      return latencies;
    },
    count: () => acknowledged.reduce((sum, own) => sum + own.length, 0),
    async stop() {
      stopped = true;
      await ended;
    },
  };
}
