import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Clients that occupy a service's connections and do next to nothing with them. */
export type SlowClients = {
  /** How many are connected now: the service closes some of them, and they reconnect. */
  connected(): Promise<number>;
  stop(): Promise<void>;
};

export type SlowClientsTask = {
  host: string;
  port: number;
  token: string;
  /** Send a header byte now and then. */
  senders: number;
  /** Request `path` and read this many bytes of the response now and then. */
  readers: number;
  path: string;
  sipBytes: number;
};

/** Starts them in a separate thread; resolves when all are connected. */
export async function startSlowClients(task: SlowClientsTask): Promise<SlowClients> {
  const thread = new Worker(new URL('./slow-clients-thread.ts', import.meta.url), { workerData: task });
  await once(thread, 'message');
  return {
    async connected() {
      thread.postMessage('count');
      const [count] = await once(thread, 'message');
      return Number(count);
    },
    async stop() {
      await thread.terminate();
    },
  };
}
