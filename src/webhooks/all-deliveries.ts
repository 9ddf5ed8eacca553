import type { PlantId } from '../plants/plant.ts';
import { firstId } from '../runtime.ts';
import { findWebhook, type WebhooksContext } from './operations.ts';
import type { DeliveriesQuery, Delivery, DeliveryPosition } from './port.ts';

export type AllDeliveriesRequest = Pick<
  DeliveriesQuery,
  'owner' | 'webhook' | 'state' | 'after' | 'limit'
> & {
  /** Only deliveries of plants with this id. */
  plant?: PlantId | undefined;
  /** Only deliveries of events from and before these times, in milliseconds since the Unix epoch. */
  since?: number | undefined;
  until?: number | undefined;
};

export type AllDeliveries = {
  deliveries: Delivery[];
  /** The list continues after it; undefined at its end. */
  next: DeliveryPosition | undefined;
};

/** A page of the deliveries of all of the owner's webhooks. Empty if the given one is not theirs. */
export async function listAllDeliveries(
  { deliveries }: Pick<WebhooksContext, 'deliveries'>,
  { plant, since = 0, until, ...request }: AllDeliveriesRequest,
): Promise<AllDeliveries> {
  const { owner, limit } = request;
  const from = firstOf(since);
  // A position in the list is before its end.
  const after = request.after ?? (until === undefined ? undefined : { event: firstOf(until), webhook: '' });
  // Ask for one more to learn whether there is a next page.
  const wanted = limit + 1;
  const events =
    plant === undefined
      ? undefined
      : await deliveries.plantEvents({
          ...{ viewer: owner, plant, from, limit: wanted },
          // Other webhooks may follow in the event of the position.
          before: after && `${after.event}0`,
        });
  const found = await deliveries.page({ ...request, from, after, events, limit: wanted });
  const listed = found.slice(0, limit);
  const last = found.length > limit ? listed.at(-1) : undefined;
  if (last) return { deliveries: listed, next: { event: last.event.id, webhook: last.webhook } };
  // The plant may have more events than were read.
  const oldest = events?.length === wanted ? events.at(-1) : undefined;
  return { deliveries: listed, next: oldest === undefined ? undefined : { event: oldest, webhook: '' } };
}

/**
 * A page of the deliveries of one webhook.
 * @throws AppError 40402 when the owner has no such webhook.
 */
export async function listDeliveries(
  context: WebhooksContext,
  request: AllDeliveriesRequest & { webhook: string },
): Promise<AllDeliveries> {
  await findWebhook(context, request.owner, request.webhook);
  return listAllDeliveries(context, request);
}

/** A bound for the events from this time on. There were no events before 1970, and no ids for them. */
function firstOf(time: number): string {
  return firstId('evt', Math.max(0, time));
}
