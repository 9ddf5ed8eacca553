import type {
  AttemptRecord,
  Delivery,
  DeliveryState,
  DeliveryStore,
  Webhook,
} from '../../src/webhooks/port.ts';

type Wanted = {
  state?: DeliveryState | undefined;
  events?: readonly string[] | undefined;
  /** Only deliveries of events before this one. */
  before?: string | undefined;
  limit?: number;
};

/** The deliveries to a webhook, newest first. */
export function deliveriesTo(
  store: { deliveries: Pick<DeliveryStore, 'page'> },
  { owner, id }: Pick<Webhook, 'owner' | 'id'>,
  { state, events, before, limit = 100 }: Wanted = {},
): Promise<Delivery[]> {
  const after = before === undefined ? undefined : { event: before, webhook: '' };
  return store.deliveries.page({ owner, webhook: id, state, events, from: 'evt_', after, limit });
}

/** The delivery of an event to a webhook. */
export async function deliveryTo(
  store: { deliveries: Pick<DeliveryStore, 'page'> },
  owner: number,
  webhook: string,
  event: string,
): Promise<Delivery | undefined> {
  const [delivery] = await deliveriesTo(store, { owner, id: webhook }, { events: [event], limit: 1 });
  return delivery;
}

/** The attempts for it, oldest first. */
export async function attemptsOf(
  store: { deliveries: Pick<DeliveryStore, 'history'> },
  ...of: Parameters<DeliveryStore['history']>
): Promise<AttemptRecord[]> {
  return (await store.deliveries.history(...of)).attempts;
}
