import { setTimeout as pause } from 'node:timers/promises';
import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import type { Api } from './api-options.ts';
import { Failure } from './failure.ts';
import type { JsonValue } from './json.ts';
import { waiting } from './limits.ts';
import { shellWord } from './terminal.ts';

export type Awaited = {
  webhook: string;
  /** The delivery as the service answered when it was made. */
  sent: JsonValue;
  /** How long to wait. */
  withinMs?: number;
};

/**
 * The delivery with its history as soon as an attempt was made. Throws a `Failure` at once when there will be none in
 * time (the webhook is disabled or pauses), and when there was none.
 */
export async function firstAttempt(
  api: Api,
  { webhook, sent, withinMs = waiting.attemptMs }: Awaited,
): Promise<JsonValue> {
  const event = membersOf(sent).text('event');
  const path = `/webhooks/${webhook}/deliveries/${event}`;
  const end = Date.now() + withinMs;
  let seen = sent;
  refuseToWait(seen, webhook, withinMs);
  for (let ms: number = waiting.lookMs.first; Date.now() < end; ms = Math.min(2 * ms, waiting.lookMs.most)) {
    await pause(Math.min(ms, end - Date.now()));
    seen = (await call(api, 'GET', path)).body;
    if (membersOf(seen).list('history').length > 0) return seen;
    refuseToWait(seen, webhook, withinMs);
  }
  throw new Failure(
    `There was no attempt within ${withinMs / 1000} s: ${holdUp(seen)}. ` +
      `To see it once there is one: plant-store delivery show ${webhook} ${shellWord(event)}`,
  );
}

/** Throws a `Failure` where waiting is in vain. */
function refuseToWait(seen: JsonValue, webhook: string, withinMs: number): void {
  const delivery = membersOf(seen);
  const enable = `plant-store webhook enable ${webhook}`;
  if (delivery.text('state') === 'held') {
    throw new Failure(`The webhook is disabled, so the test event is held; it goes out with: ${enable}`);
  }
  const next = delivery.optionalText('nextAttemptAt');
  // Both times are the service's, so that its clock need not agree with the one here.
  if (next === undefined || Date.parse(next) - Date.parse(delivery.text('createdAt')) <= withinMs) return;
  throw new Failure(
    `There is no attempt before ${next}, which is not waited for. If the webhook pauses, this ends the pause: ${enable}`,
  );
}

/** Why there was no attempt yet. What a replica of an earlier version is sending has no next attempt. */
function holdUp(seen: JsonValue): string {
  const next = membersOf(seen).optionalText('nextAttemptAt');
  return next === undefined
    ? 'it is under way, or others wait before it'
    : `it is due at ${next}, and others wait before it`;
}
