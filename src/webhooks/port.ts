import type { Caller } from '../idempotency/port.ts';
import type { PlantId } from '../plants/plant.ts';
import type { Trace } from '../tracing/port.ts';
import type { EventType } from './event-types.ts';

/**
 * What webhooks need of a store, by what it is needed for. A write for a caller who is disabled or deleted
 * rejects with AppError 40101, and one whose key was used by a request that came in between with 40901. One file, because each part is short and they share
 * their words.
 */

export interface WebhookStore {
  /** False, and nothing is made, when the owner has `most` already. */
  createWebhook(webhook: NewWebhook, most: number, caller?: Caller): Promise<boolean>;
  /** The owner's webhooks, oldest first. */
  webhooks(owner: number): Promise<Webhook[]>;
  webhook(owner: number, id: string): Promise<Webhook | undefined>;
  /**
   * Changes the members that are given. Another URL, and enabling, end a pause and begin the count of failing
   * days anew, and make all that waits due (`ChoreStore`). Undefined when the owner has no such webhook.
   */
  changeWebhook(
    owner: number,
    id: string,
    change: WebhookChange,
    caller?: Caller,
  ): Promise<Webhook | undefined>;
  /**
   * The webhook is gone at once, for delivery too; its deliveries go slice by slice (`ChoreStore`). False when the
   * owner has no such webhook.
   */
  deleteWebhook(owner: number, id: string, caller?: Caller): Promise<boolean>;
  /** Adds a secret, and lets those that are live end at `overlapUntil`, unless they end before. */
  rotateSecret(owner: number, id: string, rotation: Rotation, caller?: Caller): Promise<RotationOutcome>;
  /** Counts a part at a time, so that other requests are not held up by a long backlog. */
  health(webhook: string): Promise<WebhookHealth>;
}

export interface DeliveryStore {
  /** Newest first. */
  deliveries(query: DeliveryQuery): Promise<Delivery[]>;
  delivery(webhook: string, event: string): Promise<Delivery | undefined>;
  /** The attempts of a delivery, oldest first; only the newest are kept (`delivery.attemptsKept`). */
  attempts(webhook: string, event: string): Promise<AttemptRecord[]>;
  /** Writes an event for this webhook only. False when the owner has no such webhook. */
  createTest(test: NewTest, caller?: Caller): Promise<boolean>;
  /** Makes a delivery due now, whatever became of it, with the whole schedule before it. */
  redeliver(
    request: RedeliverRequest,
    caller?: Caller,
  ): Promise<'redelivered' | 'no webhook' | 'no delivery'>;
  /** What became of a stretch of events; undefined when that are more than `most` events and deliveries. */
  activity(query: ActivityQuery): Promise<Activity | undefined>;
  /** How many events `startReplay` would send now. */
  countReplay(request: ReplayRequest): Promise<number>;
  /**
   * Writes down that events are to be sent again; it is done slice by slice (`ChoreStore`). False, and nothing is
   * done, when the webhook has `most` replays that are not done.
   */
  startReplay(request: ReplayRequest, most: number, caller?: Caller): Promise<boolean>;
}

/** The events of the plants that a user has access to, in an order in which none ever comes in between. */
export interface EventStore {
  /** Undefined when events behind `after` are no longer kept. */
  events(query: EventQuery): Promise<EventPage | undefined>;
  /** The position behind the newest event. */
  latestPosition(viewer: number): Promise<string>;
  /** Calls back after a commit with the owners whose events it wrote. A hint, as `onDue`. */
  onEvents(listener: (owners: readonly number[]) => void): void;
}

/** Long work in slices, each of them one short transaction, so that it holds up nothing and survives a kill. */
export interface ChoreStore {
  /** Whether `advance` has something to do. */
  hasChores(now: number): Promise<boolean>;
  /**
   * A slice of each: a replay; the removal of a webhook's deliveries, of what a share brought, of a user's plants and
   * events, and of answers that were kept for a key.
   */
  advance(slice: { now: number; limit: number }): Promise<void>;
  /**
   * Removes events that are older than the id `before`, each with its deliveries and their attempts, unless one of
   * these still waits. Works on about `limit` rows from `from` on, and resolves with where to go on.
   */
  removeExpired(request: ExpiryRequest): Promise<ExpiryPosition | undefined>;
}

export type WebhookStatus = 'enabled' | 'disabled';

/** Times are milliseconds since the Unix epoch. */
export type Webhook = {
  id: string;
  owner: number;
  url: string;
  description: string | undefined;
  /** The most attempts that may begin in a second; undefined for as many as its lane takes. */
  rate: number | undefined;
  status: WebhookStatus;
  /** Why the service disabled it; undefined when its owner did. */
  disabledReason: string | undefined;
  /** Nothing is sent before: the receiver asked for it by `Retry-After`. May be over. */
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

/** Null takes a member away. */
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
  /** When the event of the oldest of those that wait was made. */
  oldestWaitingAt: number | undefined;
};

export const deliveryStates = ['pending', 'held', 'delivered', 'failed'] as const;
/** A pending delivery of a disabled webhook is held: nothing but the webhook's status makes the difference. */
export type DeliveryState = (typeof deliveryStates)[number];

/** An event with the plant as it was created. */
export type PlantEvent = {
  id: string;
  type: EventType;
  at: number;
  plant: { id: PlantId; name: string; tag: string | undefined };
};

export type Delivery = {
  event: PlantEvent;
  state: DeliveryState;
  /** Attempts that were made. */
  attempts: number;
  /** When the next attempt is due, unless its webhook pauses: over while one is under way. Undefined when there is none. */
  nextAttemptAt: number | undefined;
  /** Why the last attempt failed; undefined when it did not, or when there was none. */
  reason: string | undefined;
};

export type DeliveryQuery = {
  webhook: string;
  state: DeliveryState | undefined;
  /** Only deliveries of events before this one. */
  before: string | undefined;
  limit: number;
};

export type ActivityQuery = {
  viewer: number;
  /** Events from this id on and before that one, whether they exist or not. */
  from: string;
  before: string;
  most: number;
};

export type Activity = {
  /** Plants that were created, of all owners whom the viewer sees. */
  plants: number;
  /** Deliveries of the viewer's webhooks, by what became of them. */
  delivered: number;
  failed: number;
  waiting: number;
};

/** One attempt as it is kept. Its parts are those of `Attempt`. */
export type AttemptRecord = {
  at: number;
  durationMs: number;
  address: string | undefined;
  status: number | undefined;
  excerpt: string | undefined;
  error: string | undefined;
};

export type NewTest = {
  owner: number;
  webhook: string;
  event: PlantEvent;
  due: number;
  /** As that of a plant. */
  trace?: Trace | undefined;
};

export type RedeliverRequest = { owner: number; webhook: string; event: string; at: number };

export type ReplayRequest = {
  owner: number;
  webhook: string;
  /** Events from this id on, whether they exist or not. */
  from: string;
  /** Only deliveries in this state; without it every event, those that the webhook had no delivery for included. */
  state: DeliveryState | undefined;
  at: number;
};

export type EventQuery = {
  viewer: number;
  /** A position; undefined for the beginning. */
  after: string | undefined;
  limit: number;
};

export type EventPage = {
  events: FeedEvent[];
  /** The position behind the last of them: what is asked for next. */
  next: string;
};

/** An event with the position behind it: a text of letters, digits and `_` whose meaning is the store's own. */
export type FeedEvent = PlantEvent & { position: string };

export type ExpiryRequest = { before: string; from: ExpiryPosition | undefined; limit: number };

/** An event that was looked at. */
export type ExpiryPosition = { owner: number; event: string };
