// Made by "npm run docs" from the OpenAPI document. Change the schemas in src/, not this.

import type { Int64, Int64Input } from './json.ts';

/** The plant to add to the store. */
export type PlantInput = {
  /** a string of 1 to 255 Unicode code points, not only white space, without NUL or lone surrogates */
  name: string;
  /** a string of at most 255 Unicode code points, without NUL or lone surrogates */
  tag?: string | undefined;
  /** a 64-bit signed integer (-9223372036854775808 to 9223372036854775807) */
  id?: Int64Input | undefined;
};

/** A plant with the requested fields; by default `name` and `tag`. */
export type ListedPlant = {
  /** a 64-bit signed integer (-9223372036854775808 to 9223372036854775807) */
  id?: Int64;
  /** a string of 1 to 255 Unicode code points, not only white space, without NUL or lone surrogates */
  name?: string;
  /** a string of at most 255 Unicode code points, without NUL or lone surrogates */
  tag?: string;
  /** the owner's user name */
  owner?: string;
};

/** The receiver of new plants. */
export type WebhookInput = {
  /** an https URL of at most 2048 characters whose host has a public address */
  url: string;
  /** a string of at most 255 Unicode code points, without NUL or lone surrogates */
  description?: string | undefined;
  /** an integer from 1 to 1000: the most attempts that begin in a second */
  rate?: number | undefined;
};

/** A new webhook with its secret. */
export type WebhookCreated = Webhook & {
  /** the key that verifies `v1` signatures (Standard Webhooks); shown only once */
  secret: string;
};

/** A webhook and its health. Members without a value are left out. */
export type Webhook = {
  /** the id of the webhook */
  id: string;
  /** an https URL of at most 2048 characters whose host has a public address */
  url: string;
  /** a string of at most 255 Unicode code points, without NUL or lone surrogates */
  description?: string;
  /** an integer from 1 to 1000: the most attempts that begin in a second */
  rate?: number;
  /** whether deliveries are sent; if not, they are held */
  status: 'enabled' | 'disabled';
  /** why it is disabled; absent if you disabled it */
  disabledReason?: string;
  /** nothing is sent before this time, because the receiver requested a pause; absent without a pause */
  pausedUntil?: string;
  /** the ed25519 key that verifies `v1a` signatures (Standard Webhooks) */
  publicKey: string;
  /** when the webhook was created (RFC 3339) */
  createdAt: string;
  /** when an attempt last succeeded */
  lastSuccessAt?: string;
  /** when an attempt last failed */
  lastFailureAt?: string;
  /** how many deliveries are pending or held */
  waiting: number;
  /** how many deliveries failed for good */
  failed: number;
  /** how many seconds ago the oldest waiting event happened; absent when none waits */
  oldestWaitingAge?: number;
};

/** The members to change; the others stay as they are. */
export type WebhookPatch = {
  /** an https URL of at most 2048 characters whose host has a public address */
  url?: string | undefined;
  /** a string of at most 255 Unicode code points, without NUL or lone surrogates, or null for none */
  description?: string | null | undefined;
  /** an integer from 1 to 1000: the most attempts that begin in a second, or null for no limit */
  rate?: number | null | undefined;
  /** true or false: whether deliveries are sent */
  enabled?: boolean | undefined;
};

/** How the old secret ends. */
export type RotationInput = {
  /** an integer from 0 to 2592000: for how many seconds the old secret keeps signing; without it, 86400 */
  overlap?: number | undefined;
};

/** The new secret. */
export type RotatedSecret = {
  /** the key that verifies `v1` signatures (Standard Webhooks); shown only once */
  secret: string;
  /** until when the old secret also signs */
  overlapUntil: string;
};

/** One event on its way to one webhook. */
export type Delivery = {
  /** the id of the webhook */
  webhook: string;
  /** the id of the event: the `webhook-id` of its deliveries */
  event: string;
  /** what happened; `plant.test` is a test that its owner requested */
  type: 'plant.created' | 'plant.test';
  plant: NewPlant;
  /**
   * waiting or in flight (`pending`), waiting for the webhook to be enabled (`held`), delivered
   * (`delivered`), or given up (`failed`)
   */
  state: 'pending' | 'held' | 'delivered' | 'failed';
  /** the number of attempts */
  attempts: number;
  /**
   * when the next attempt is due; in the past while one is in flight or waits for its turn or the rate of its
   * webhook; absent when there is none
   */
  nextAttemptAt?: string;
  /** why the last attempt failed; absent if it succeeded */
  reason?: string;
  /** when the event happened (RFC 3339) */
  createdAt: string;
};

/** The plant that was added to the store, as it was created. */
export type NewPlant = {
  /** a 64-bit signed integer (-9223372036854775808 to 9223372036854775807) */
  id: Int64;
  /** a string of 1 to 255 Unicode code points, not only white space, without NUL or lone surrogates */
  name: string;
  /** a string of at most 255 Unicode code points, without NUL or lone surrogates */
  tag?: string;
};

/** A delivery with its attempts. */
export type DeliveryWithHistory = Delivery & {
  /** the attempts, oldest first */
  history: {
    /** when the attempt began (RFC 3339) */
    at: string;
    /** how long it took, in milliseconds */
    durationMs: number;
    /** the address to which it was sent */
    address?: string;
    /** the HTTP status of the response; absent without one */
    status?: number;
    /** the beginning of the response body */
    excerpt?: string;
    /** why there was no complete response; absent when there was one */
    error?: string;
  }[];
};

/** What to resend. */
export type ReplayInput = {
  /**
   * a valid RFC 3339 date-time, such as 2026-11-21T08:00:00Z or 2026-11-21T09:00:00.5+01:00; leap seconds are
   * not supported
   */
  since: string;
  /**
   * one of pending, held, delivered, failed: only deliveries in this state; without it every event, even
   * those from before the webhook was created
   */
  state?: 'pending' | 'held' | 'delivered' | 'failed' | undefined;
};

/** Something that happened to a plant. */
export type PlantEvent = {
  /** the id of the event: the `webhook-id` of its deliveries */
  id: string;
  /** what happened; `plant.test` is a test that its owner requested */
  type: 'plant.created' | 'plant.test';
  /** when it happened (RFC 3339) */
  createdAt: string;
  plant: NewPlant;
};

/** What happened in an hour. A delivery counts in the hour of its event, with its current state. */
export type ActiveHour = {
  /** The start of the hour, in UTC. */
  from: string;
  /** Plants created, your own and those shared with you. */
  plants: number;
  /** Deliveries of your webhooks that succeeded. */
  delivered: number;
  /** Deliveries that failed for good. */
  failed: number;
  /** Deliveries that are pending or held. */
  waiting: number;
};

/** Who the token acts for, and what it may do. */
export type Me = {
  /** the name of the user */
  user: string;
  /** what the token may do */
  scopes: Scope[];
  /** when the token expires; absent if it never does */
  expiresAt?: string;
};

/** What a token may do. */
export type Scope =
  | 'plants:read'
  | 'plants:write'
  | 'webhooks:read'
  | 'webhooks:write'
  | 'tokens:read'
  | 'tokens:write';

/** A token, without the token itself. */
export type Token = {
  /** the id of the token */
  id: string;
  /** what the token is for; may be empty */
  label: string;
  /** what the token may do */
  scopes: Scope[];
  /** when the token was created (RFC 3339) */
  createdAt: string;
  /** when the token expires; absent if it never does */
  expiresAt?: string;
  /**
   * the UTC day on which it was last used; absent if it was not used since the service began to record this
   */
  lastUsedOn?: string;
};

/** The token to create. It can do no more and lasts no longer than yours. */
export type TokenInput = {
  /**
   * a string of at most 255 characters, without control characters or lone surrogates: what the token is for
   */
  label?: string | undefined;
  /**
   * a list of plants:read, plants:write, webhooks:read, webhooks:write, tokens:read, tokens:write, each at
   * most once: what the token may do; without it, what yours may do
   */
  scopes?: Scope[] | undefined;
  /**
   * an integer from 1 to 315360000: after how many seconds the token expires; without it, when yours does, or
   * never
   */
  expiresIn?: number | undefined;
};

/** A new token. */
export type TokenCreated = Token & {
  /** the token, shown only once: absent when the response is a replay under an Idempotency-Key */
  token?: string;
};

/** How the old token ends. */
export type TokenRotationInput = {
  /** an integer from 0 to 2592000: for how many seconds the old token keeps working; without it, 86400 */
  overlap?: number | undefined;
};

/** The new token, with the label and the scopes of the old one. */
export type TokenRotated = Token & {
  /** the token, shown only once: absent when the response is a replay under an Idempotency-Key */
  token?: string;
  /** until when the old token works */
  overlapUntil: string;
};
