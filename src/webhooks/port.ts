import type { Caller } from '../idempotency/port.ts';
import type { PlantId } from '../plants/plant.ts';
import type { Trace } from '../tracing/port.ts';
import type { Attempt } from './sending/attempt.ts';

/**
 * What webhooks need from a store, by purpose. A write for a disabled or deleted caller rejects with AppError 40101;
 * a write whose key another request used meanwhile rejects with 40901. One file, because each part is short and they
 * share their terms.
 */

export interface WebhookStore {
  /** False, without creating anything, when the owner already has `most`. */
  createWebhook(webhook: NewWebhook, most: number, caller?: Caller): Promise<boolean>;
  /** The owner's webhooks, oldest first. */
  webhooks(owner: number): Promise<Webhook[]>;
  webhook(owner: number, id: string): Promise<Webhook | undefined>;
  /**
   * Changes the given members. A new URL or enabling the webhook ends a pause, restarts the count of failing days and
   * makes everything that waits due (`ChoreStore`). Undefined when the owner has no such webhook.
   */
  changeWebhook(
    owner: number,
    id: string,
    change: WebhookChange,
    caller?: Caller,
  ): Promise<Webhook | undefined>;
  /**
   * Deletes the webhook at once, for delivery too; its deliveries are removed slice by slice (`ChoreStore`). False
   * when the owner has no such webhook.
   */
  deleteWebhook(owner: number, id: string, caller?: Caller): Promise<boolean>;
  /** Adds a secret. Live secrets end at `overlapUntil`, unless they end before. */
  rotateSecret(owner: number, id: string, rotation: Rotation, caller?: Caller): Promise<RotationOutcome>;
}

export interface DeliveryStore {
  /** A page of a user's deliveries: later events first and, of one event, webhooks by descending id. */
  page(query: DeliveriesQuery): Promise<Delivery[]>;
  /** The newest events that announced plants with this id to the viewer, newest first. */
  plantEvents(query: PlantEventsQuery): Promise<string[]>;
  /** A delivery of a user with its attempts, at one moment. */
  history(owner: number, webhook: string, event: string): Promise<DeliveryHistory>;
  /** Writes an event for this webhook only. False when the owner has no such webhook. */
  createTest(test: NewTest, caller?: Caller): Promise<boolean>;
  /** Makes a delivery due now, whatever its state, with its whole schedule ahead. */
  redeliver(
    request: RedeliverRequest,
    caller?: Caller,
  ): Promise<'redelivered' | 'no webhook' | 'no delivery'>;
  /** Counts: the longer the backlog, the longer it takes. Other requests do not wait for it. */
  health(webhook: string): Promise<WebhookHealth>;
  /** The outcomes of a range of events; undefined when it holds more than `most` events and deliveries. */
  activity(query: ActivityQuery): Promise<Activity | undefined>;
  /** How many events `startReplay` would send now. */
  countReplay(request: ReplayRequest): Promise<number>;
  /**
   * Stores a replay of events, which is done slice by slice (`ChoreStore`). False, without effect, when the webhook
   * has `most` unfinished replays.
   */
  startReplay(request: ReplayRequest, most: number, caller?: Caller): Promise<boolean>;
}

/**
 * The events of the plants that a user has access to, in an order in which later events never come before earlier
 * ones.
 */
export interface EventStore {
  /** Undefined when events after `after` are no longer kept. */
  events(query: EventQuery): Promise<EventPage | undefined>;
  /** The position after the newest event. */
  latestPosition(viewer: number): Promise<string>;
  /** Calls back after a commit with the owners whose events it wrote. Only a hint, like `LaneStore.listen`. */
  onEvents(listener: (owners: readonly number[]) => void): void;
}

/** Long work in slices, each of them one short transaction, so that it delays nothing and survives a kill. */
export interface ChoreStore {
  /** Whether `advance` has something to do. */
  hasChores(now: number): Promise<boolean>;
  /**
   * Does one slice of each: a replay; the removal of a webhook's deliveries, of a share's deliveries, of a user's
   * plants and events, and of expired answers to Idempotency-Keys; and the folding of names from older versions. False
   * when all of it must wait: for another replica, which does it, or for a transaction to end.
   */
  advance(slice: { now: number; limit: number }): Promise<boolean>;
  /**
   * Removes events older than the id `before` with their deliveries and attempts, unless a delivery is pending. Works
   * on about `limit` rows from `from` on, and resolves with where to continue.
   */
  removeExpired(request: ExpiryRequest): Promise<ExpiryPosition | undefined>;
}

/**
 * The types of events. Each is sent to the webhooks that have a delivery of it. `isInFeed`: in the feeds of everybody
 * who sees the plant, and resent by a replay of everything. Both stores build their SQL from this table only. A new
 * type also needs a migration that admits it in the schema and, on PostgreSQL, in the index of the feed.
 */
const rules = {
  'plant.created': { isInFeed: true },
  /** For the webhook whose owner requested it. */
  'plant.test': { isInFeed: false },
} as const satisfies Record<string, { isInFeed: boolean }>;

export type EventType = keyof typeof rules;
// The keys of the table, which `Object.keys` types as strings.
export const eventTypes = Object.keys(rules) as EventType[];
export const feedTypes = eventTypes.filter((type) => rules[type].isInFeed);

/** Times are milliseconds since the Unix epoch. */
export type Webhook = {
  id: string;
  owner: number;
  url: string;
  description: string | undefined;
  /** The most attempts per second; undefined for as many as its lane takes. */
  rate: number | undefined;
  status: 'enabled' | 'disabled';
  /** Why the service disabled it; undefined when its owner did. */
  disabledReason: string | undefined;
  /** Nothing is sent before this time, which the receiver requested with `Retry-After`. May be in the past. */
  pausedUntil: number | undefined;
  /** `whpk_…` (Standard Webhooks). */
  publicKey: string;
  createdAt: number;
  lastSuccessAt: number | undefined;
  lastFailureAt: number | undefined;
};

export type NewWebhook = Pick<
  Webhook,
  'id' | 'owner' | 'url' | 'description' | 'rate' | 'publicKey' | 'createdAt'
> &
  SigningKeys;

export type SigningKeys = {
  /** `whsec_…`: live secrets, newest first. */
  secrets: readonly string[];
  /** `whsk_…`: the ed25519 private key. */
  privateKey: string;
};

/** Null removes a member. */
export type WebhookChange = {
  at: number;
  url?: string | undefined;
  description?: string | null | undefined;
  rate?: number | null | undefined;
  enabled?: boolean | undefined;
};

export type Rotation = { secret: string; at: number; overlapUntil: number; most: number };

/** `full`: the webhook has `most` live secrets; one of them ends at `until`. */
export type RotationOutcome = 'rotated' | 'no webhook' | { full: true; until: number };

export type WebhookHealth = {
  /** Deliveries that are pending or held. */
  waiting: number;
  failed: number;
  /** When the oldest waiting event was created. */
  oldestWaitingAt: number | undefined;
};

export const deliveryStates = ['pending', 'held', 'delivered', 'failed'] as const;
/** A pending delivery of a disabled webhook is held: the state follows from the webhook's status alone. */
export type DeliveryState = (typeof deliveryStates)[number];

/** An event with the plant as it was created. */
export type PlantEvent = {
  id: string;
  type: EventType;
  at: number;
  plant: { id: PlantId; name: string; tag: string | undefined };
};

export type Delivery = {
  webhook: string;
  event: PlantEvent;
  state: DeliveryState;
  /** Attempts that were made. */
  attempts: number;
  /**
   * When the next attempt is due, not before its webhook's pause ends; in the past while one is in flight. Undefined
   * when there is none.
   */
  nextAttemptAt: number | undefined;
  /** Why the last attempt failed; undefined if it succeeded or there was none. */
  reason: string | undefined;
};

/** A place in the list of deliveries. Neither needs to exist. */
export type DeliveryPosition = { event: string; webhook: string };

export type DeliveriesQuery = {
  owner: number;
  /** Only deliveries of this webhook; of all without it. */
  webhook: string | undefined;
  state: DeliveryState | undefined;
  /** Only deliveries of these events; undefined for any event. */
  events: readonly string[] | undefined;
  /** Only deliveries of events from this id on; it need not exist. */
  from: string;
  /** Only deliveries that follow this position. */
  after: DeliveryPosition | undefined;
  limit: number;
};

export type PlantEventsQuery = {
  viewer: number;
  plant: PlantId;
  /** Only events from this id on and before the other; neither needs to exist. */
  from: string;
  before: string | undefined;
  limit: number;
};

export type ActivityQuery = {
  viewer: number;
  /** The first event and the end of the range; neither needs to exist. */
  from: string;
  before: string;
  most: number;
};

export type Activity = {
  /** Plants created by all owners whom the viewer sees. */
  plants: number;
  /** Deliveries of the viewer's webhooks by their current state. */
  delivered: number;
  failed: number;
  waiting: number;
};

export type DeliveryHistory = {
  /** Undefined when the user has no such delivery. */
  delivery: Delivery | undefined;
  /** Oldest first; only the newest are kept (`delivery.attemptsKept`). */
  attempts: AttemptRecord[];
};

/** One attempt as stored. */
export type AttemptRecord = Required<Omit<Attempt, 'retryAfter'>>;

export type NewTest = {
  owner: number;
  webhook: string;
  event: PlantEvent;
  due: number;
  /** As for a plant. */
  trace?: Trace | undefined;
};

export type RedeliverRequest = { owner: number; webhook: string; event: string; at: number };

export type ReplayRequest = {
  owner: number;
  webhook: string;
  /** The first event, which need not exist. */
  from: string;
  /** Only deliveries in this state; without it every event, including those without a delivery to the webhook. */
  state: DeliveryState | undefined;
};

export type EventQuery = {
  viewer: number;
  /** A position; undefined for the beginning. */
  after: string | undefined;
  limit: number;
};

export type EventPage = {
  events: FeedEvent[];
  /** The position after the last of them, for the next request. */
  next: string;
};

/** An event with the position after it: letters, digits and `_` with a meaning private to the store. */
export type FeedEvent = PlantEvent & { position: string };

export type ExpiryRequest = { before: string; from: ExpiryPosition | undefined; limit: number };

/** The last event examined. */
export type ExpiryPosition = { owner: number; event: string };
