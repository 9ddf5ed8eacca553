import type { PlantId } from '../plants/plant.ts';
import { firstId } from '../runtime.ts';
import { findWebhook, type WebhooksContext } from './operations.ts';
import type { Delivery, DeliveryState, NewestQuery, Webhook } from './port.ts';

/** Deliveries of all webhooks are ordered by event and then webhook, the last first. */
export type DeliveryPosition = { event: string; webhook: string };

export type AllDeliveriesRequest = {
  owner: number;
  /** Only deliveries of this webhook, in this state, of plants with this id. */
  webhook: string | undefined;
  state: DeliveryState | undefined;
  plant: PlantId | undefined;
  /** Only deliveries of events from and before these times, in milliseconds since the Unix epoch. */
  since: number | undefined;
  until: number | undefined;
  /** Only deliveries after this position. */
  after: DeliveryPosition | undefined;
  limit: number;
};

export type AllDeliveries = {
  deliveries: Delivery[];
  /** The list continues after it; undefined at its end. */
  next: DeliveryPosition | undefined;
};

/** A page of the deliveries of all of the owner's webhooks. Empty if the given one is not theirs. */
export async function listAllDeliveries(
  context: WebhooksContext,
  request: AllDeliveriesRequest,
): Promise<AllDeliveries> {
  const own = (await context.webhooks.webhooks(request.owner)).filter(
    ({ id }) => request.webhook === undefined || request.webhook === id,
  );
  return own.length === 0 ? { deliveries: [], next: undefined } : pageOf(context, own, request);
}

/**
 * A page of the deliveries of one webhook.
 * @throws AppError 40402 when the owner has no such webhook.
 */
export async function listDeliveries(
  context: WebhooksContext,
  {
    webhook,
    ...request
  }: Pick<AllDeliveriesRequest, 'owner' | 'state' | 'after' | 'limit'> & { webhook: string },
): Promise<AllDeliveries> {
  const own = await findWebhook(context, request.owner, webhook);
  return pageOf(context, [own], { ...request, plant: undefined, since: undefined, until: undefined });
}

/** A page of the deliveries of some of the owner's webhooks, which are in the order of their ids. */
async function pageOf(
  context: WebhooksContext,
  own: readonly Webhook[],
  request: Omit<AllDeliveriesRequest, 'webhook'>,
): Promise<AllDeliveries> {
  const { owner, state, plant, limit } = request;
  const webhooks = own.map(({ id }) => ({ webhook: id, before: boundOf(id, request) }));
  // There were no events before 1970, and no ids for them.
  const from = firstId('evt', Math.max(0, request.since ?? 0));
  // Ask for one more to learn whether there is a next page.
  const wanted = limit + 1;
  const last = request.after && { ...request, after: { ...request.after, webhook: AFTER_ALL } };
  const events =
    plant === undefined
      ? undefined
      : await context.deliveries.plantEvents({
          ...{ viewer: owner, plant, from, limit: wanted },
          before: boundOf('', last ?? request),
        });
  const query = { webhooks, state, from, events, limit: wanted, page: wanted };
  const { found, end } = await newestOfAll(context, query);
  const pauses = new Map(own.map((webhook) => [webhook.id, webhook]));
  const deliveries = found.slice(0, limit).map((one) => {
    const webhook = pauses.get(one.webhook);
    return webhook ? afterPause(one, webhook) : one;
  });
  const next = found.length > limit ? deliveries.at(-1) : end;
  if (next) return { deliveries, next: positionOf(next) };
  // The plant may have more events than were read.
  const oldest = events?.length === wanted ? events.at(-1) : undefined;
  return { deliveries, next: oldest === undefined ? undefined : { event: oldest, webhook: '' } };
}

/** Nothing is sent while the webhook pauses. */
export function afterPause(
  delivery: Delivery,
  { pausedUntil = 0 }: { pausedUntil: number | undefined },
): Delivery {
  const { nextAttemptAt } = delivery;
  if (nextAttemptAt === undefined || nextAttemptAt >= pausedUntil) return delivery;
  return { ...delivery, nextAttemptAt: pausedUntil };
}

/** Greater than every id of a webhook. */
const AFTER_ALL = '~';

/** Only a webhook's deliveries of earlier events are left; of the last event, too, if the webhook follows in the list. */
function boundOf(webhook: string, { until, after }: Pick<AllDeliveriesRequest, 'until' | 'after'>) {
  const end = until === undefined ? undefined : firstId('evt', Math.max(0, until));
  if (!after) return end;
  const bound = webhook < after.webhook ? `${after.event}0` : after.event;
  return end !== undefined && end < bound ? end : bound;
}

/**
 * The newest `limit`, in order. Reads a few of each webhook, and then a whole page only of those that may have more on
 * this page.
 *
 * @returns `end`: more may follow it, though fewer than `limit` are found when some left the state between the reads;
 * undefined if nothing follows
 */
async function newestOfAll(
  { deliveries }: WebhooksContext,
  query: NewestQuery,
): Promise<{ found: Delivery[]; end: Delivery | undefined }> {
  const { webhooks, limit, events } = query;
  const few = events ? limit : Math.min(limit, Math.ceil(limit / webhooks.length) + 1);
  const heads = (await deliveries.newest({ ...query, limit: few })).sort(lastFirst);
  const end = heads[limit - 1];
  const upToEnd = (sorted: Delivery[]) => sorted.filter((one) => !end || lastFirst(one, end) <= 0);
  const counts = new Map<string, number>();
  for (const { webhook } of upToEnd(heads)) counts.set(webhook, 1 + (counts.get(webhook) ?? 0));
  const more = few === limit ? [] : webhooks.filter(({ webhook }) => counts.get(webhook) === few);
  if (more.length === 0) return { found: upToEnd(heads), end };
  const again = new Set(more.map(({ webhook }) => webhook));
  const rest = await deliveries.newest({ ...query, webhooks: more, from: end?.event.id ?? query.from });
  const merged = [...heads.filter(({ webhook }) => !again.has(webhook)), ...rest].sort(lastFirst);
  return { found: upToEnd(merged).slice(0, limit), end };
}

function positionOf({ event, webhook }: Delivery): DeliveryPosition {
  return { event: event.id, webhook };
}

function lastFirst(one: Delivery, other: Delivery): number {
  if (one.event.id !== other.event.id) return one.event.id < other.event.id ? 1 : -1;
  return one.webhook < other.webhook ? 1 : -1;
}
