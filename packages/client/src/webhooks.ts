import type { Int64Input } from './json.ts';
import { type InPages, type OnePage, type Page, pageOf, walk } from './pages.ts';
import type { CallOptions, KeyedOptions, Requests } from './requests.ts';
import type {
  Delivery,
  DeliveryWithHistory,
  ReplayInput,
  RotatedSecret,
  RotationInput,
  Webhook,
  WebhookCreated,
  WebhookInput,
  WebhookPatch,
} from './schemas.ts';

export type DeliveryState = Delivery['state'];

export type DeliveryListOptions = CallOptions & {
  /** Only deliveries in this state. */
  state?: DeliveryState | undefined;
};

export type AllDeliveriesOptions = DeliveryListOptions & {
  webhook?: string | undefined;
  /** Only deliveries of plants with this id. */
  plant?: Int64Input | undefined;
  /** Only deliveries of events from this time on (RFC 3339). */
  since?: string | undefined;
  /** Only deliveries of events before this time (RFC 3339). */
  until?: string | undefined;
};

/** Webhooks and their deliveries. */
export type Webhooks = {
  /** From now on, each new plant is sent to the URL. The secret is only in this response. */
  create(webhook: WebhookInput, options?: KeyedOptions): Promise<WebhookCreated>;
  /** All of the user's webhooks with their health. */
  list(options?: CallOptions): Promise<Webhook[]>;
  get(id: string, options?: CallOptions): Promise<Webhook>;
  /** Changes the given members. A disabled webhook holds its deliveries. */
  update(id: string, change: WebhookPatch, options?: CallOptions): Promise<Webhook>;
  /** Deletes a webhook and its deliveries. As for plants, "not found" after a lost response counts as success. */
  delete(id: string, options?: CallOptions): Promise<void>;
  /** Creates a new secret; the old one also signs for `overlap` seconds, by default 86 400. */
  rotateSecret(id: string, options?: RotationInput & KeyedOptions): Promise<RotatedSecret>;
  /** Sends a signed test event in the same way as real ones. */
  test(id: string, options?: KeyedOptions): Promise<Delivery>;
  /** Resends what happened since a time; resolves with the number of events. */
  replay(
    id: string,
    what: Omit<ReplayInput, 'since'> & { since: string | Date },
    options?: KeyedOptions,
  ): Promise<{ count: number }>;
  /** The deliveries, newest first, in pages of `pageSize`, by default 100. */
  deliveries(id: string, options?: InPages<DeliveryListOptions>): AsyncGenerator<Delivery, void, void>;
  /** One page of that list: `limit` deliveries, by default 100, after `cursor`. */
  deliveriesPage(id: string, options?: OnePage<DeliveryListOptions>): Promise<Page<Delivery>>;
  /** The deliveries of all webhooks, newest first, in pages of `pageSize`, by default 100. */
  allDeliveries(options?: InPages<AllDeliveriesOptions>): AsyncGenerator<Delivery, void, void>;
  /** One page of that list: at most `limit` deliveries, by default 100, after `cursor`. */
  allDeliveriesPage(options?: OnePage<AllDeliveriesOptions>): Promise<Page<Delivery>>;
  /** One delivery with its attempts. */
  delivery(id: string, event: string, options?: CallOptions): Promise<DeliveryWithHistory>;
  /** Makes a delivery due now, whatever its state. */
  redeliver(id: string, event: string, options?: KeyedOptions): Promise<Delivery>;
};

export function webhooksOf({ send, read, post }: Requests): Webhooks {
  const page = async (
    path: readonly string[],
    { signal, ...query }: CallOptions & Record<string, unknown> = {},
  ): Promise<Page<Delivery>> => pageOf(await send({ path, query, signal }));
  const deliveriesPage: Webhooks['deliveriesPage'] = (id, options) =>
    page(['webhooks', id, 'deliveries'], options);
  const allDeliveriesPage: Webhooks['allDeliveriesPage'] = (options) => page(['deliveries'], options);
  const all = (
    ask: Webhooks['allDeliveriesPage'],
    { pageSize: limit, ...options }: InPages<AllDeliveriesOptions> = {},
  ) => walk((cursor) => ask({ ...options, limit, cursor }));

  return {
    create: (webhook, options) => post(['webhooks'], webhook, options),
    list: (options) => read({ ...options, path: ['webhooks'] }),
    get: (id, options) => read({ ...options, path: ['webhooks', id] }),
    update: (id, change, options) =>
      read({ ...options, method: 'PATCH', path: ['webhooks', id], body: JSON.stringify(change) }),
    delete: (id, options) => read({ ...options, method: 'DELETE', path: ['webhooks', id] }),
    rotateSecret: (id, { overlap, ...options } = {}) =>
      post(['webhooks', id, 'rotate-secret'], { overlap }, options),
    test: (id, options) => post(['webhooks', id, 'test'], {}, options),
    replay: (id, what, options) => post(['webhooks', id, 'replay'], what, options),
    deliveriesPage,
    deliveries: (id, options) => all((query) => deliveriesPage(id, query), options),
    allDeliveriesPage,
    allDeliveries: (options) => all(allDeliveriesPage, options),
    delivery: (id, event, options) => read({ ...options, path: ['webhooks', id, 'deliveries', event] }),
    redeliver: (id, event, options) => post(['webhooks', id, 'deliveries', event, 'redeliver'], {}, options),
  };
}
