import type { Delivery, DeliveryState, DeliveryStore } from '../../src/webhooks/port.ts';

export type DeliveriesQuery = {
  state?: DeliveryState | undefined;
  /** Only deliveries of events before this one. */
  before?: string | undefined;
  limit?: number;
};

/** The deliveries to a webhook, newest first. */
export async function deliveriesTo(
  store: { deliveries: Pick<DeliveryStore, 'newest'> },
  webhook: string,
  { state, before, limit = 100 }: DeliveriesQuery = {},
): Promise<Delivery[]> {
  const bounds = { webhooks: [{ webhook, before }], from: 'evt_', events: undefined, limit, page: limit };
  const found = await store.deliveries.newest({ state, ...bounds });
  return found.sort((one, other) => (one.event.id < other.event.id ? 1 : -1));
}
