import type { FromSchema } from 'json-schema-to-ts';
import { AppError } from '../errors.ts';
import type { CallerFor } from '../idempotency/port.ts';
import { delivery as limits } from '../limits.ts';
import type { PlantId } from '../plants/plant.ts';
import { firstId } from '../runtime.ts';
import { findWebhook, noWebhook, type WebhooksContext } from './operations.ts';
import {
  type AttemptRecord,
  type DeliveriesQuery,
  type Delivery,
  type DeliveryPosition,
  deliveryStates,
  type PlantEvent,
  type Webhook,
} from './port.ts';
import { DateTime, parseDateTime } from './time.ts';

export type DeliveriesRequest = Pick<DeliveriesQuery, 'owner' | 'webhook' | 'state' | 'after' | 'limit'> & {
  /** Only deliveries of plants with this id. */
  plant?: PlantId | undefined;
  /** Only deliveries of events from and before these times, in milliseconds since the Unix epoch. */
  since?: number | undefined;
  until?: number | undefined;
};

/** `next`: the list continues after it; undefined at its end. */
type DeliveriesPage = { deliveries: Delivery[]; next: DeliveryPosition | undefined };

/** A page of the deliveries of all of the owner's webhooks, or of one. Empty if that one is not theirs. */
export async function listDeliveries(
  { deliveries }: Pick<WebhooksContext, 'deliveries'>,
  { plant, since = 0, until, ...request }: DeliveriesRequest,
): Promise<DeliveriesPage> {
  const { owner, limit } = request;
  const from = firstId('evt', since);
  // A position in the list is before its end.
  const end = until === undefined ? undefined : { event: firstId('evt', until), webhook: '' };
  const after = request.after ?? end;
  // Ask for one more to learn whether there is a next page.
  const wanted = limit + 1;
  // Other webhooks may follow in the event of the position.
  const before = after && `${after.event}0`;
  const events =
    plant === undefined
      ? undefined
      : await deliveries.plantEvents({ viewer: owner, plant, from, before, limit: wanted });
  const found = await deliveries.page({ ...request, from, after, events, limit: wanted });
  const listed = found.slice(0, limit);
  const last = found.length > limit ? listed.at(-1) : undefined;
  if (last) return { deliveries: listed, next: { event: last.event.id, webhook: last.webhook } };
  // The plant may have more events than were read.
  const oldest = events?.length === wanted ? events.at(-1) : undefined;
  return { deliveries: listed, next: oldest === undefined ? undefined : { event: oldest, webhook: '' } };
}

/** The plant in the test event. */
const TEST_PLANT: PlantEvent['plant'] = { id: 0n, name: 'Test plant', tag: 'test' };

/**
 * A delivery with its attempts, oldest first, and its webhook.
 *
 * @throws AppError 40402 when the owner has no such webhook, 40403 when it has no such delivery.
 */
export async function getDelivery(
  context: WebhooksContext,
  owner: number,
  id: string,
  event: string,
): Promise<{ webhook: Webhook; delivery: Delivery; attempts: AttemptRecord[] }> {
  const webhook = await findWebhook(context, owner, id);
  const { delivery, attempts } = await context.deliveries.history(owner, id, event);
  if (delivery === undefined) throw noDelivery();
  return { webhook, delivery, attempts };
}

/**
 * Creates an event `plant.test` for this webhook only, which is delivered like any other.
 * @throws AppError 40402 when the owner has no such webhook.
 */
export async function testWebhook(
  context: WebhooksContext,
  owner: number,
  id: string,
  callerFor?: CallerFor<Delivery>,
): Promise<Delivery> {
  const { deliveries, runtime, deliveryDelayMs } = context;
  const webhook = await findWebhook(context, owner, id);
  // In this order: queries by time look up events by id.
  const at = runtime.clock.now();
  const event: PlantEvent = { id: runtime.ids.next('evt'), type: 'plant.test', at, plant: TEST_PLANT };
  const due = at + deliveryDelayMs;
  const result = waiting({ event, attempts: 0, reason: undefined }, due, webhook);
  const caller = callerFor?.(result);
  const test = { owner, webhook: id, event, due, trace: caller?.span?.trace };
  if (await deliveries.createTest(test, caller)) return result;
  throw noWebhook();
}

/**
 * Makes a delivery due now, whatever its state.
 * @throws AppError 40402 when the owner has no such webhook, 40403 when it has no such delivery.
 */
export async function redeliver(
  context: WebhooksContext,
  owner: number,
  id: string,
  event: string,
  callerFor?: CallerFor<Delivery>,
): Promise<Delivery> {
  const { deliveries, runtime } = context;
  const { webhook, delivery } = await getDelivery(context, owner, id, event);
  const at = runtime.clock.now();
  const result = waiting(delivery, at, webhook);
  const outcome = await deliveries.redeliver({ owner, webhook: id, event, at }, callerFor?.(result));
  if (outcome === 'no webhook') throw noWebhook();
  if (outcome === 'no delivery') throw noDelivery();
  return result;
}

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
  const { deliveries } = context;
  const request = { owner, webhook: id, from: firstId('evt', ms), state };
  const count = await deliveries.countReplay(request);
  const most = limits.replays;
  if (await deliveries.startReplay(request, most, callerFor?.(count))) return count;
  throw new AppError(40902, `The webhook has ${most} unfinished replays, which is the limit.`);
}

/** A delivery that is due at this time. */
function waiting(
  { event, attempts, reason }: Pick<Delivery, 'event' | 'attempts' | 'reason'>,
  due: number,
  webhook: Webhook,
): Delivery {
  const delivery = { webhook: webhook.id, event, attempts, reason };
  if (webhook.status === 'disabled') return { ...delivery, state: 'held', nextAttemptAt: undefined };
  return { ...delivery, state: 'pending', nextAttemptAt: Math.max(due, webhook.pausedUntil ?? 0) };
}

function noDelivery(): AppError {
  return new AppError(40403, 'The webhook has no delivery of this event.');
}
