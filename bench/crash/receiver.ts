import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A receiver in a thread of its own, which lives on while the service is killed. */
export type Receiver = {
  url: string;
  /** The secret that its requests are signed with. */
  trust(secret: string): void;
  /** From now on it accepts everything. */
  calm(): void;
  report(): Promise<ReceiverReport>;
  stop(): Promise<void>;
};

export type ReceiverReport = {
  /** What was accepted, by event. */
  receipts: Map<string, Receipt>;
  counts: { attempts: number; failed: number; reset: number; hung: number; badSignatures: number };
};

export type Receipt = {
  body: string;
  times: number;
  /** The body was the same each time. */
  isSteady: boolean;
};

export type ToReceiver = 'report' | 'calm' | { secret: string };

export async function startReceiver(seed: number): Promise<Receiver> {
  const thread = new Worker(new URL('./receiver-thread.ts', import.meta.url), { workerData: seed });
  const send = (message: ToReceiver) => thread.postMessage(message);
  const [url] = await once(thread, 'message');
  return {
    url,
    trust: (secret) => send({ secret }),
    calm: () => send('calm'),
    async report() {
      const answer = once(thread, 'message');
      send('report');
      const [report] = await answer;
      return report;
    },
    async stop() {
      await thread.terminate();
    },
  };
}
