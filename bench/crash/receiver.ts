import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/**
 * The receivers by mood: `steady` accepts everything, `slow` does so after a while; the others answer 500, break the
 * connection or never answer, each in a share of the requests. No share is so large that a delivery runs out of
 * attempts.
 */
export const moods = {
  steady: { fail: 0, reset: 0, hang: 0, afterMs: 0 },
  slow: { fail: 0, reset: 0, hang: 0, afterMs: 100 },
  failing: { fail: 0.3, reset: 0, hang: 0, afterMs: 0 },
  resetting: { fail: 0, reset: 0.1, hang: 0, afterMs: 0 },
  hanging: { fail: 0, reset: 0, hang: 0.02, afterMs: 0 },
  mixed: { fail: 0.1, reset: 0.03, hang: 0.005, afterMs: 0 },
} as const;

export type Mood = keyof typeof moods;
// The members of a record are its names.
export const moodNames = Object.keys(moods) as Mood[];

/** A receiver for each mood, all in a separate thread that survives kills of the service. */
export type Receivers = {
  /** The URL of a mood. */
  url(mood: Mood): string;
  /** The secret that signs its requests. */
  trust(mood: Mood, secret: string): void;
  /** Makes them accept everything from now on. */
  calm(): void;
  report(): Promise<ReceiverReport>;
  stop(): Promise<void>;
};

export type ReceiverReport = {
  /** By event: the body of its first request to any receiver. */
  bodies: Map<string, string>;
  /** How often each event was accepted. */
  accepted: Map<Mood, Map<string, number>>;
  repeats: Repeat[];
  counts: Record<'requests' | 'failed' | 'reset' | 'hung' | 'badSignatures' | 'changedBodies', number>;
};

/** An event that was accepted again: the times before and after (`monotonicMs`). */
export type Repeat = { mood: Mood; event: string; before: number; again: number };

export type ToReceivers = 'report' | 'calm' | { mood: Mood; secret: string };

export async function startReceivers(seed: number): Promise<Receivers> {
  const thread = new Worker(new URL('./receiver-thread.ts', import.meta.url), { workerData: seed });
  const send = (message: ToReceivers) => thread.postMessage(message);
  const [url] = await once(thread, 'message');
  return {
    url: (mood) => url + mood,
    trust: (mood, secret) => send({ mood, secret }),
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
