import { delivery } from '../limits.ts';
import { type Attempt, failureOf } from './attempt.ts';
import type { Sendable } from './delivery.ts';
import type { Sender } from './sender.ts';

/** What the dispatcher sends with. */
export type QueueingSender = {
  /** Undefined for an attempt that was not made: one to the same webhook failed while it waited, or it was dismissed. */
  send(claim: Sendable): Promise<Attempt | undefined>;
  /** Begins none of the attempts that wait for this webhook: it was changed. */
  dismiss(webhook: string): void;
  /** Begins no further attempts; those that are under way go on. */
  drain(): void;
  /** Ends what is under way, and every connection. May be called twice. */
  stop(): Promise<void>;
};

type Queue = { underWay: number; waiting: ((isTurn: boolean) => void)[] };

/**
 * Lets at most `concurrency` requests of a webhook be under way; the others wait for their turn, so that the next one
 * begins without waiting for a claim. When one fails, those that wait are not made: the webhook may have to be left
 * alone, which is decided elsewhere.
 */
export function createQueueingSender(sender: Sender, concurrency: number): QueueingSender {
  const queues = new Map<string, Queue>();
  let isDraining = false;

  function queueOf(webhook: string): Queue {
    const known = queues.get(webhook);
    if (known) return known;
    if (queues.size >= delivery.rememberedLanes) forgetIdle();
    const queue = { underWay: 0, waiting: [] };
    queues.set(webhook, queue);
    return queue;
  }

  function turn(queue: Queue): Promise<boolean> | boolean {
    if (isDraining) return false;
    if (queue.underWay >= concurrency) return new Promise((resolve) => queue.waiting.push(resolve));
    queue.underWay++;
    return true;
  }

  function sendBack(queue: Queue): void {
    for (const waiter of queue.waiting.splice(0)) waiter(false);
  }

  function leave(queue: Queue): void {
    const next = queue.waiting.shift();
    if (next) next(true);
    else queue.underWay--;
  }

  /** Not after each request: entries that come and go stay in memory until V8's next full collection. */
  function forgetIdle(): void {
    for (const [webhook, { underWay }] of queues) if (underWay === 0) queues.delete(webhook);
  }

  return {
    async send(claim) {
      const { id } = claim.webhook;
      const queue = queueOf(id);
      if (!(await turn(queue))) return undefined;
      const attempt = await sender.send(claim);
      if (failureOf(attempt) !== undefined) sendBack(queue);
      leave(queue);
      return attempt;
    },
    dismiss(webhook) {
      const queue = queues.get(webhook);
      if (queue) sendBack(queue);
    },
    drain() {
      isDraining = true;
      for (const queue of queues.values()) sendBack(queue);
    },
    stop: () => sender.stop(),
  };
}
