import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Load } from './load.ts';

/**
 * Requests sent at a fixed rate, whether or not those before them have been answered: what clients do who do not
 * know of each other. `connections` is how many are open at the beginning; more are opened, up to `mostConnections`,
 * when none is free.
 */
export type OpenLoad = Pick<Load, 'method' | 'body' | 'token' | 'connections'> & {
  path: string;
  perSecond: number;
  seconds: number;
  mostConnections: number;
};

export type OpenLoadResult = {
  seconds: number;
  /** Requests that were sent. */
  sent: number;
  /** Requests that were due and found no free connection until the end. */
  unsent: number;
  /** Connections that broke before the answer to a request. */
  broken: number;
  /** Answers by their status. */
  statuses: Record<number, number>;
  /** Answers of status 2xx in each second. */
  goodput: number[];
  /** Percentiles in milliseconds, from the moment when a request was sent to the end of its answer. */
  good: Latencies;
  refused: Latencies;
  /** How much later than due requests were sent: what the generator, or a lack of connections, adds. */
  lateness: Latencies;
};

export type Latencies = { p50: number; p99: number; most: number };

export type OpenLoadTask = { host: string; port: number; load: OpenLoad };

/** Sends the load from a thread of its own, on the core of the bench. */
export async function sendOpenLoad(url: string, load: OpenLoad): Promise<OpenLoadResult> {
  const { hostname: host, port } = new URL(url);
  const task: OpenLoadTask = { host, port: Number(port), load };
  const thread = new Worker(new URL('./open-loop-thread.ts', import.meta.url), { workerData: task });
  const [message] = await once(thread, 'message');
  await thread.terminate();
  // The only thing that it sends.
  const result: OpenLoadResult = message;
  return result;
}
