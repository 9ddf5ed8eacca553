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

type Lane = { underWay: number; waiting: ((isTurn: boolean) => void)[] };

/**
 * Lets at most `concurrency` requests of a webhook be under way; the others wait for their turn, so that the next one
 * begins without waiting for a claim. When one fails, those that wait are not made: the webhook may have to be left
 * alone, which is decided elsewhere.
 */
export function createQueueingSender(sender: Sender, concurrency: number): QueueingSender {
  const lanes = new Map<string, Lane>();
  let isDraining = false;

  function laneOf(webhook: string): Lane {
    const known = lanes.get(webhook);
    if (known) return known;
    if (lanes.size >= delivery.rememberedLanes) forgetIdle();
    const lane = { underWay: 0, waiting: [] };
    lanes.set(webhook, lane);
    return lane;
  }

  function turn(lane: Lane): Promise<boolean> | boolean {
    if (isDraining) return false;
    if (lane.underWay >= concurrency) return new Promise((resolve) => lane.waiting.push(resolve));
    lane.underWay++;
    return true;
  }

  function sendBack(lane: Lane): void {
    for (const waiter of lane.waiting.splice(0)) waiter(false);
  }

  function leave(lane: Lane): void {
    const next = lane.waiting.shift();
    if (next) next(true);
    else lane.underWay--;
  }

  /** Not after each request: entries that come and go stay in memory until V8's next full collection. */
  function forgetIdle(): void {
    for (const [webhook, { underWay }] of lanes) if (underWay === 0) lanes.delete(webhook);
  }

  return {
    async send(claim) {
      const { id } = claim.webhook;
      const lane = laneOf(id);
      if (!(await turn(lane))) return undefined;
      const attempt = await sender.send(claim);
      if (failureOf(attempt) !== undefined) sendBack(lane);
      leave(lane);
      return attempt;
    },
    dismiss(webhook) {
      const lane = lanes.get(webhook);
      if (lane) sendBack(lane);
    },
    drain() {
      isDraining = true;
      for (const lane of lanes.values()) sendBack(lane);
    },
    stop: () => sender.stop(),
  };
}
