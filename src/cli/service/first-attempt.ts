import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery, DeliveryWithHistory } from '../../../packages/client/src/schemas.ts';
import type { Webhooks } from '../../../packages/client/src/webhooks.ts';
import { Failure } from '../failure.ts';
import { waiting } from '../limits.ts';
import { shellWord } from '../terminal/terminal.ts';
import { whyLater } from '../verbs/delivery-view.ts';

export type Awaited = {
  webhook: string;
  /** The delivery as the service created it. */
  sent: Delivery;
  withinMs?: number;
};

/** Waits for the first attempt of a delivery. Throws a `Failure` when none comes in time, or at once when none can. */
export async function firstAttempt(
  webhooks: Webhooks,
  { webhook, sent, withinMs = waiting.attemptMs }: Awaited,
): Promise<DeliveryWithHistory> {
  const { event } = sent;
  const end = Date.now() + withinMs;
  let seen = sent;
  refuseToWait(seen, withinMs);
  for (let ms: number = waiting.lookMs.first; Date.now() < end; ms = Math.min(2 * ms, waiting.lookMs.most)) {
    await pause(Math.min(ms, end - Date.now()));
    const delivery = await webhooks.delivery(webhook, event);
    if (delivery.history.length > 0) return delivery;
    seen = delivery;
    refuseToWait(seen, withinMs);
  }
  throw new Failure(
    `No attempt within ${withinMs / 1000} s: ${holdUp(seen)}. ` +
      `To see it later: plant-store delivery show ${webhook} ${shellWord(event)}`,
  );
}

/** Throws a `Failure` when no attempt can come in time. */
function refuseToWait(delivery: Delivery, withinMs: number): void {
  const why = whyLater(delivery, Date.parse(delivery.createdAt) + withinMs);
  if (why !== undefined) throw new Failure(why);
}

/** Why no attempt was made yet. Without a next attempt, a replica may be sending it. */
function holdUp({ nextAttemptAt }: Delivery): string {
  return nextAttemptAt === undefined
    ? 'it is being sent, or others wait before it'
    : `it is due at ${nextAttemptAt}, and others wait before it`;
}
