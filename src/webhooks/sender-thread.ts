import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { sending } from '../limits.ts';
import { parseNetworks } from './addresses.ts';
import type { Attempt } from './attempt.ts';
import type { Sendable } from './delivery.ts';
import { createQueueingSender } from './queueing-sender.ts';
import { createResolve } from './resolver.ts';
import { createSender } from './sender.ts';
import { createTarget } from './target.ts';

/**
 * The thread that sends: signing and receivers that are slow or hostile take nothing of the time in which the main
 * thread answers the API.
 */

export type SenderThreadOptions = {
  /** `WEBHOOK_ALLOWED_NETWORKS`. */
  networks: string;
  version: string;
  source: string;
  attemptMs?: number;
  /** Requests under way to one webhook. */
  concurrency: number;
};

/** All claims of a turn of the event loop, each with a number that its attempt bears, too. */
export type Claims = [key: number, claim: Sendable][];
/** Of a webhook: what waits for it is not sent. */
export type Dismissal = { dismissed: string };
/** Without an attempt where none was made. */
export type Attempts = [key: number, attempt: Attempt | undefined][];

if (parentPort) {
  yieldToOthers();
  serve(parentPort, workerData);
}

function serve(port: NonNullable<typeof parentPort>, options: SenderThreadOptions): void {
  const { networks, version, source, attemptMs, concurrency } = options;
  const target = createTarget({ allowed: parseNetworks(networks), resolve: createResolve() });
  // A clock cannot be handed to a thread.
  const clock = { now: Date.now };
  const direct = createSender({ target, clock, version, source, ...(attemptMs && { attemptMs }) });
  const sender = createQueueingSender(direct, concurrency);
  let ended: Attempts = [];

  function flush(): void {
    port.postMessage(ended);
    ended = [];
  }

  function send(key: number, claim: Sendable): void {
    void sender.send(claim).then((attempt) => {
      if (ended.push([key, attempt]) === 1) setTimeout(flush, sending.gatherMs);
    });
  }

  async function stop(): Promise<void> {
    await sender.stop();
    // The attempts that it ended are on their way to the list.
    setImmediate(() => {
      flush();
      // A look-up that hangs would keep the thread alive.
      process.exit();
    });
  }

  port.on('message', (message: Claims | Dismissal | 'drain' | 'stop') => {
    if (message === 'stop') void stop();
    else if (message === 'drain') sender.drain();
    else if ('dismissed' in message) sender.dismiss(message.dismissed);
    else for (const [key, claim] of message) send(key, claim);
  });
}

/**
 * On one core an answer of the API does not wait for signatures. Only Linux has a priority for each thread; elsewhere
 * it would be that of the whole process.
 */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, sending.nice);
  } catch {
    // A sandbox that forbids it costs nothing but some latency.
  }
}
