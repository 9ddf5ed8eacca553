import { stat } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { sending } from '../limits.ts';
import { threadEnvironment } from '../thread-environment.ts';
import { type AllowedNetworks, formatNetworks } from './addresses.ts';
import { type Attempt, STOPPED } from './attempt.ts';
import type { Sendable } from './delivery.ts';
import type { QueueingSender } from './queueing-sender.ts';
import type { Attempts, Claims, Dismissal, SenderThreadOptions } from './sender-thread.ts';

export type ThreadSenderParts = {
  allowedNetworks: AllowedNetworks;
  /** Of this service, for `user-agent`. */
  version: string;
  /** The service's public URL, for `ce-source`. */
  source: string;
  /** From the look-up of the name to the end of the answer, in milliseconds. */
  attemptMs?: number;
  /** Requests under way to one webhook. */
  concurrency: number;
};

const DIED = 'The thread that sends ended by a fault.';

/**
 * Sends in a thread of its own, which starts with the first delivery: it takes memory that a service without webhooks
 * need not pay. When the thread dies, what was under way has failed, and the next delivery starts a new one.
 */
export function createThreadSender({ allowedNetworks, ...parts }: ThreadSenderParts): QueueingSender {
  const options = { ...parts, networks: formatNetworks(allowedNetworks) };
  let thread: SenderThread | undefined;
  let stopping: Promise<void> | undefined;

  return {
    async send(claim) {
      if (stopping) return notMade({ began: Date.now(), aheadMs: claim.aheadMs ?? 0 }, STOPPED);
      if (thread === undefined || thread.isDead()) thread = startThread(options);
      return thread.send(claim);
    },
    dismiss: (webhook) => thread?.dismiss(webhook),
    drain: () => thread?.drain(),
    stop: () => (stopping ??= thread?.stop() ?? Promise.resolve()),
  };
}

type Begun = { began: number; aheadMs: number };
type UnderWay = Begun & { resolve(attempt: Attempt | undefined): void };

type SenderThread = QueueingSender & { isDead(): boolean };

function startThread(options: SenderThreadOptions): SenderThread {
  // Node's pool of helper threads has the priority of the thread that uses it first, which the sender's is not to be.
  stat(import.meta.filename, () => {});
  const worker = new Worker(new URL('./sender-thread.ts', import.meta.url), {
    workerData: options,
    resourceLimits: {
      maxYoungGenerationSizeMb: sending.heapMegabytes.young,
      maxOldGenerationSizeMb: sending.heapMegabytes.old,
    },
    env: threadEnvironment(),
  });
  // An array whose places are used again: a Map whose entries come and go makes V8 keep what was in it until the next
  // full collection.
  const underWay: (UnderWay | undefined)[] = [];
  const free: number[] = [];
  let waiting: Claims = [];
  let isDead = false;
  // Whatever happens before: an error while it stops must not keep the service from stopping.
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));

  function flush(): void {
    if (waiting.length > 0) worker.postMessage(waiting);
    waiting = [];
  }

  function die(): void {
    isDead = true;
    for (const one of underWay.splice(0)) if (one) one.resolve(notMade(one, DIED));
  }

  worker.on('message', (attempts: Attempts) => {
    for (const [key, attempt] of attempts) {
      underWay[key]?.resolve(attempt);
      underWay[key] = undefined;
      free.push(key);
    }
  });
  worker.on('error', die);
  worker.on('exit', die);

  return {
    isDead: () => isDead,

    send({ webhook: { id, url, secrets, privateKey }, event, onward, aheadMs = 0 }: Sendable) {
      return new Promise((resolve) => {
        const key = free.pop() ?? underWay.length;
        underWay[key] = { began: Date.now(), aheadMs, resolve };
        const webhook = { id, url, secrets, privateKey };
        const length = waiting.push([key, { webhook, event, onward, aheadMs }]);
        if (length === 1) setImmediate(flush);
      });
    },

    dismiss(webhook) {
      flush();
      worker.postMessage({ dismissed: webhook } satisfies Dismissal);
    },

    drain() {
      flush();
      worker.postMessage('drain');
    },

    async stop() {
      if (isDead) return;
      flush();
      worker.postMessage('stop');
      await exited;
    },
  };
}

function notMade({ began, aheadMs }: Begun, error: string): Attempt {
  return { at: began + aheadMs, durationMs: Math.max(0, Date.now() - began), error };
}
