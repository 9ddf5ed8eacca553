import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Load } from './load.ts';

/**
 * Requests sent at a fixed rate, whether or not earlier ones have been answered, as independent clients do.
 * `connections` are open at the start; more are opened, up to `mostConnections`, when none is free.
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
  /** Requests that were due but found no free connection until the end. */
  unsent: number;
  /** Connections that broke before a response. */
  broken: number;
  /** Responses by status. */
  statuses: Record<number, number>;
  /** 2xx responses in each second. */
  goodput: number[];
  /** Percentiles in milliseconds, from sending a request to the end of its response. */
  good: Latencies;
  /** The same from when the request was due: the wait for a free connection counts (coordinated omission). */
  goodSinceDue: Latencies;
  refused: Latencies;
  /** How late requests were sent: caused by the generator or a lack of connections. */
  lateness: Latencies;
};

export type Latencies = { p50: number; p99: number; most: number };

export type OpenLoadTask = { host: string; port: number; load: OpenLoad };

/** Sends the load from its own thread, on the benchmark's core. */
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
