/**
 * `plant-store/client`: a client for the service in Node, browsers, Deno and Bun. It uses only the web platform
 * (fetch, WebCrypto) and imports nothing.
 */

import { type Events, eventsOf } from './events.ts';
import { type Plants, plantsOf } from './plants.ts';
import { type CallOptions, createRequests, type PlantStoreOptions, type Requests } from './requests.ts';
import type { ActiveHour, Me } from './schemas.ts';
import { type Tokens, tokensOf } from './tokens.ts';
import { type Webhooks, webhooksOf } from './webhooks.ts';

export type { StreamedEvent, StreamOptions } from './event-stream.ts';
export type { EventListOptions, EventPage, Events } from './events.ts';
export type { Int64, Int64Input } from './json.ts';
export type { Page } from './pages.ts';
export { type ErrorName, PlantStoreError } from './plant-store-error.ts';
export type { CreatedPlant, PlantField, PlantListOptions, Plants, PlantWith } from './plants.ts';
export type { CallOptions, KeyedOptions, PlantStoreOptions } from './requests.ts';
export type * from './schemas.ts';
export type { Tokens } from './tokens.ts';
export {
  type VerifiedWebhook,
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookRefusal,
  WebhookVerificationError,
} from './verify-webhook.ts';
export type { AllDeliveriesOptions, DeliveryListOptions, DeliveryState, Webhooks } from './webhooks.ts';

/** A plant store, on behalf of the token's user. */
export class PlantStore {
  readonly plants: Plants;
  readonly webhooks: Webhooks;
  readonly events: Events;
  readonly tokens: Tokens;
  readonly #requests: Requests;

  /** @throws TypeError for an invalid URL, or one that is neither http nor https */
  constructor(options: PlantStoreOptions) {
    this.#requests = createRequests(options);
    this.plants = plantsOf(this.#requests);
    this.webhooks = webhooksOf(this.#requests);
    this.events = eventsOf(this.#requests);
    this.tokens = tokensOf(this.#requests);
  }

  /** The user of the token, what it may do, and until when. Needs no scope. */
  me(options?: CallOptions): Promise<Me> {
    return this.#requests.read({ ...options, path: ['me'] });
  }

  /**
   * What happened in each of the last `hours` (by default 24), oldest first; the last hour is the current one.
   * Returns fewer hours if they hold very many events.
   */
  activity({ hours, ...options }: CallOptions & { hours?: number | undefined } = {}): Promise<{
    hours: ActiveHour[];
  }> {
    return this.#requests.read({ ...options, path: ['activity'], query: { hours } });
  }
}
