import type { Delivery, DeliveryState, DeliveryStore, Webhook } from '../../src/webhooks/port.ts';

type Wanted = {
  state?: DeliveryState | undefined;
  /** Only deliveries of events before this one. */
  before?: string | undefined;
  limit?: number;
};

/** The deliveries to a webhook, newest first. */
export function deliveriesTo(
  store: { deliveries: Pick<DeliveryStore, 'page'> },
  { owner, id }: Pick<Webhook, 'owner' | 'id'>,
  { state, before, limit = 100 }: Wanted = {},
): Promise<Delivery[]> {
  const after = before === undefined ? undefined : { event: before, webhook: '' };
  return store.deliveries.page({ owner, webhook: id, state, events: undefined, from: 'evt_', after, limit });
}
