import type { FromSchema } from 'json-schema-to-ts';
import { AppError } from '../errors.ts';
import type { CallerFor } from '../idempotency/port.ts';
import { delivery as limits } from '../limits.ts';
import { firstId } from '../runtime.ts';
import { findWebhook, type WebhooksContext } from './operations.ts';
import { deliveryStates } from './port.ts';
import { DateTime, parseDateTime } from './time.ts';

/** The body of `POST /webhooks/{id}/replay`. */
export const ReplayInput = {
  $id: 'ReplayInput',
  type: 'object',
  required: ['since'],
  properties: {
    since: DateTime,
    state: {
      enum: deliveryStates,
      description:
        `one of ${deliveryStates.join(', ')}: only deliveries in this state; ` +
        'without it every event, even those from before the webhook was created',
    },
  },
  additionalProperties: false,
  description: 'What to resend.',
} as const;
export type ReplayInput = FromSchema<typeof ReplayInput>;

/**
 * Resends events from a time on. Resolves with their number once the replay is stored; it survives a kill. Each
 * delivery is retried like a new one.
 * @throws AppError 40402 when the owner has no such webhook, 40002 when `since` is not a time, 40902 when too many
 * replays are unfinished.
 */
export async function replay(
  context: WebhooksContext,
  owner: number,
  id: string,
  { since, state }: ReplayInput,
  callerFor?: CallerFor<number>,
): Promise<number> {
  const ms = parseDateTime(since);
  if (ms === undefined) throw new AppError(40002, `The member "since" must be ${DateTime.description}.`);
  await findWebhook(context, owner, id);
  const { deliveries, runtime } = context;
  // There were no events before 1970, and no ids for them.
  const from = firstId('evt', Math.max(0, ms));
  const request = { owner, webhook: id, from, state, at: runtime.clock.now() };
  const count = await deliveries.countReplay(request);
  const most = limits.replays;
  if (await deliveries.startReplay(request, most, callerFor?.(count))) return count;
  throw new AppError(40902, `The webhook has ${most} unfinished replays, which is the limit.`);
}
