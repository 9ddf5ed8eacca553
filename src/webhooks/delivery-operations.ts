import { AppError } from '../errors.ts';
import type { CallerFor } from '../idempotency/port.ts';
import { afterPause, pageOf } from './all-deliveries.ts';
import { findWebhook, noWebhook, type WebhooksContext } from './operations.ts';
import type { AttemptRecord, Delivery, DeliveryState, PlantEvent, Webhook } from './port.ts';

/** The plant in the test event. */
const TEST_PLANT: PlantEvent['plant'] = { id: 0n, name: 'Test plant', tag: 'test' };

export type DeliveryList = {
  deliveries: Delivery[];
  /** The event before which the list continues; undefined at its end. */
  next: string | undefined;
};

export type DeliveryListRequest = {
  owner: number;
  webhook: string;
  state: DeliveryState | undefined;
  before: string | undefined;
  limit: number;
};

/**
 * A page of a webhook's deliveries, newest first.
 * @throws AppError 40402 when the owner has no such webhook.
 */
export async function listDeliveries(
  context: WebhooksContext,
  { webhook, before, ...query }: DeliveryListRequest,
): Promise<DeliveryList> {
  const own = await findWebhook(context, query.owner, webhook);
  const after = before === undefined ? undefined : { event: before, webhook };
  const request = { ...query, after, plant: undefined, since: undefined, until: undefined };
  const { deliveries, next } = await pageOf(context, [own], request);
  return { deliveries, next: next?.event };
}

/**
 * A delivery with its attempts, oldest first.
 *
 * @throws AppError 40402 when the owner has no such webhook, 40403 when it has no such delivery.
 */
export async function getDelivery(
  context: WebhooksContext,
  owner: number,
  id: string,
  event: string,
): Promise<{ delivery: Delivery; attempts: AttemptRecord[] }> {
  const delivery = await findDelivery(context, owner, id, event);
  return { delivery, attempts: await context.deliveries.attempts(id, event) };
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
  const webhook = await findWebhook(context, owner, id);
  const delivery = await deliveries.delivery(id, event);
  if (delivery === undefined) throw noDelivery();
  const at = runtime.clock.now();
  const result = waiting(delivery, at, webhook);
  const outcome = await deliveries.redeliver({ owner, webhook: id, event, at }, callerFor?.(result));
  if (outcome === 'no webhook') throw noWebhook();
  if (outcome === 'no delivery') throw noDelivery();
  return result;
}

/** A delivery that is due at this time. */
function waiting(
  { event, attempts, reason }: Pick<Delivery, 'event' | 'attempts' | 'reason'>,
  due: number,
  webhook: Webhook,
): Delivery {
  const delivery = { webhook: webhook.id, event, attempts, reason };
  if (webhook.status === 'disabled') return { ...delivery, state: 'held', nextAttemptAt: undefined };
  return afterPause({ ...delivery, state: 'pending', nextAttemptAt: due }, webhook);
}

async function findDelivery(
  context: WebhooksContext,
  owner: number,
  id: string,
  event: string,
): Promise<Delivery> {
  const webhook = await findWebhook(context, owner, id);
  const delivery = await context.deliveries.delivery(id, event);
  if (delivery === undefined) throw noDelivery();
  return afterPause(delivery, webhook);
}

function noDelivery(): AppError {
  return new AppError(40403, 'The webhook has no delivery of this event.');
}
