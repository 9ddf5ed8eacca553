import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery, DeliveryWithHistory } from '../../../packages/client/src/schemas.ts';
import type { Webhooks } from '../../../packages/client/src/webhooks.ts';
import { Failure } from '../failure.ts';
import { waiting } from '../limits.ts';
import { shellWord } from '../terminal/terminal.ts';

export type Awaited = {
  webhook: string;
  /** The delivery as the service answered when it was made. */
  sent: Delivery;
  /** How long to wait. */
  withinMs?: number;
};

/**
 * The delivery with its history as soon as an attempt was made. Throws a `Failure` at once when there will be none in
 * time (the webhook is disabled or pauses), and when there was none.
 */
export async function firstAttempt(
  webhooks: Webhooks,
  { webhook, sent, withinMs = waiting.attemptMs }: Awaited,
): Promise<DeliveryWithHistory> {
  const { event } = sent;
  const end = Date.now() + withinMs;
  let seen = sent;
  refuseToWait(seen, webhook, withinMs);
  for (let ms: number = waiting.lookMs.first; Date.now() < end; ms = Math.min(2 * ms, waiting.lookMs.most)) {
    await pause(Math.min(ms, end - Date.now()));
    const delivery = await webhooks.delivery(webhook, event);
    if (delivery.history.length > 0) return delivery;
    seen = delivery;
    refuseToWait(seen, webhook, withinMs);
  }
  throw new Failure(
    `There was no attempt within ${withinMs / 1000} s: ${holdUp(seen)}. ` +
      `To see it once there is one: plant-store delivery show ${webhook} ${shellWord(event)}`,
  );
}

/** Throws a `Failure` where waiting is in vain. */
function refuseToWait(
  { state, nextAttemptAt, createdAt }: Delivery,
  webhook: string,
  withinMs: number,
): void {
  const enable = `plant-store webhook enable ${webhook}`;
  if (state === 'held') {
    throw new Failure(`The webhook is disabled, so the test event is held; it goes out with: ${enable}`);
  }
  // Both times are the service's, so that its clock need not agree with the one here.
  if (nextAttemptAt === undefined || Date.parse(nextAttemptAt) - Date.parse(createdAt) <= withinMs) return;
  throw new Failure(
    `There is no attempt before ${nextAttemptAt}, which is not waited for. If the webhook pauses, this ends the pause: ${enable}`,
  );
}

/** Why there was no attempt yet. What a replica of an earlier version is sending has no next attempt. */
function holdUp({ nextAttemptAt }: Delivery): string {
  return nextAttemptAt === undefined
    ? 'it is under way, or others wait before it'
    : `it is due at ${nextAttemptAt}, and others wait before it`;
}
