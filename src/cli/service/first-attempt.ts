import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery, DeliveryWithHistory } from '../../../packages/client/src/schemas.ts';
import type { Webhooks } from '../../../packages/client/src/webhooks.ts';
import { Failure } from '../failure.ts';
import { waiting } from '../limits.ts';
import { shellWord } from '../terminal/terminal.ts';

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
  refuseToWait(seen, webhook, withinMs);
  for (let ms: number = waiting.lookMs.first; Date.now() < end; ms = Math.min(2 * ms, waiting.lookMs.most)) {
    await pause(Math.min(ms, end - Date.now()));
    const delivery = await webhooks.delivery(webhook, event);
    if (delivery.history.length > 0) return delivery;
    seen = delivery;
    refuseToWait(seen, webhook, withinMs);
  }
  throw new Failure(
    `No attempt within ${withinMs / 1000} s: ${holdUp(seen)}. ` +
      `To see it later: plant-store delivery show ${webhook} ${shellWord(event)}`,
  );
}

/** Throws a `Failure` when no attempt can come in time. */
function refuseToWait(
  { state, nextAttemptAt, createdAt }: Delivery,
  webhook: string,
  withinMs: number,
): void {
  const enable = `plant-store webhook enable ${webhook}`;
  if (state === 'held') {
    throw new Failure(`The webhook is disabled, so the test event is held. To send it: ${enable}`);
  }
  // Compares two times of the service, so that its clock need not agree with the one here.
  if (nextAttemptAt === undefined || Date.parse(nextAttemptAt) - Date.parse(createdAt) <= withinMs) return;
  throw new Failure(
    `The first attempt is due only at ${nextAttemptAt}. If the webhook is paused, end the pause: ${enable}`,
  );
}

/** Why no attempt was made yet. Without a next attempt, a replica may be sending it. */
function holdUp({ nextAttemptAt }: Delivery): string {
  return nextAttemptAt === undefined
    ? 'it is being sent, or others wait before it'
    : `it is due at ${nextAttemptAt}, and others wait before it`;
}
