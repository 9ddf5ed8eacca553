import type { Belongings, Share, StoredToken, User } from '../access/port.ts';
import { isScope } from '../access/scopes.ts';
import type { KeptRecord } from '../idempotency/port.ts';
import type { WebhooksReading } from '../observability/port.ts';
import type { DueDelivery, LaneContents, LaneSettings } from '../webhooks/delivery/port.ts';
import {
  type AttemptRecord,
  type Delivery,
  type DeliveryState,
  type EventType,
  eventTypes,
  feedTypes,
  type PlantEvent,
  type Webhook,
} from '../webhooks/port.ts';
import type { CursorKeys } from './store.ts';

/** Converts rows of both stores, which name their columns alike. The embedded store keeps booleans as numbers. */
type Row = Readonly<Record<string, unknown>>;

/** Converts a row, if there is one. */
export function ifFound<T>(row: Row | undefined, convert: (row: Row) => T): T | undefined {
  return row && convert(row);
}

/** The event types that this version knows, as SQL: queries for `toEvent` leave those of newer replicas to them. */
export const KNOWN_TYPES = asSql(eventTypes);

/** The known types in the feed. */
export const FEED_TYPES = asSql(feedTypes);

function asSql(types: readonly EventType[]): string {
  return types.map((type) => `'${type}'`).join(', ');
}

function isKnownType(type: unknown): type is EventType {
  return eventTypes.some((known) => known === type);
}

/** From a row with a column for each member, and no other: `created_at` becomes `createdAt`, and null undefined. */
function toRecord<T>(row: Row): T {
  const members = Object.entries(row).map(([column, value]) => [
    column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    value ?? undefined,
  ]);
  // The statements of both stores select the members of the types below.
  return Object.fromEntries(members) as T;
}

export const toUser = toRecord<User>;
export const toBelongings = toRecord<Belongings>;
export const toShare = toRecord<Share>;
export const toWebhook = toRecord<Webhook>;
export const toAttempt = toRecord<AttemptRecord>;

export const SHARES = `SELECT o.name AS owner, v.name AS viewer, s.created_at
  FROM shares s
  JOIN users o ON o.id = s.owner
  JOIN users v ON v.id = s.viewer
  ORDER BY o.name, v.name`;

/** @param row of a token, with the id of its user as `user`, and the user's name and disabled_at */
export function toToken(row: Row): StoredToken {
  return {
    id: String(row.id),
    user: { id: Number(row.user), name: String(row.name), isDisabled: row.disabled_at !== null },
    label: String(row.label),
    scopes: String(row.scopes).split(' ').filter(isScope),
    createdAt: Number(row.created_at),
    expiresAt: numberOf(row.expires_at),
    revokedAt: numberOf(row.revoked_at),
    replacedBy: textOf(row.replaced_by),
    isBootstrap: Boolean(row.bootstrap),
    lastUsedOn: textOf(row.last_used_on),
  };
}

export const CURSOR_KEYS = `SELECT c.secret, m.value AS store_key
  FROM cursor_key c
  JOIN meta m ON m.name = 'key'`;

export function toCursorKeys({ secret, store_key: storeKey }: Row): CursorKeys {
  return { secret: String(secret), storeKey: Number(storeKey) };
}

export function toKeptRecord(row: Row): KeptRecord {
  return {
    fingerprint: String(row.fingerprint),
    answer: { status: Number(row.status), location: textOf(row.location), body: String(row.body) },
  };
}

/** `isHealthy`: the service's last attempt succeeded. */
export type Receiver = { webhook: string; url: string; isHealthy: boolean };

/** Of enabled webhooks. */
export const RECEIVERS = `SELECT id, url, last_success_at > coalesce(last_failure_at, 0) AS is_healthy
  FROM webhooks
  WHERE status = 'enabled'
  ORDER BY id`;

export function toReceiver({ id, url, is_healthy: healthy }: Row): Receiver {
  return { webhook: String(id), url: String(url), isHealthy: Boolean(healthy) };
}

/** The rows of a lane. */
type LaneRows = {
  /** The webhook's row. */
  webhook: Row;
  /** The live secrets, newest first. */
  secrets: readonly string[];
  /** In order, each with its `event`, due, step, generation and suspicions, and the columns of `toEvent`. */
  asked: readonly Row[];
  due: readonly Row[];
  nextDue: unknown;
};

/**
 * Reads a lane (`LaneStore.read`). In a damaged store the event of a delivery may be missing, and its `id` is null: such
 * deliveries are given up, so that they do not block the others.
 * @param read resolves with undefined when nothing may be sent
 * @param giveUp called with the missing events
 */
export async function readLane(
  read: () => LaneRows | undefined | Promise<LaneRows | undefined>,
  giveUp: (events: readonly string[]) => Promise<unknown>,
): Promise<LaneContents> {
  const rows = await read();
  if (!rows) return { settings: undefined, asked: [], due: [], nextDue: undefined };
  const { webhook, secrets, asked, due, nextDue } = rows;
  const missing = [...asked, ...due].filter(({ id }) => id === null);
  if (missing.length > 0) {
    await giveUp(missing.map(({ event }) => String(event)));
    return readLane(read, giveUp);
  }
  return {
    settings: toLaneSettings(webhook, secrets),
    asked: asked.map((row) => toDueDelivery(row, true)),
    due: due.map((row) => toDueDelivery(row, false)),
    nextDue: numberOf(nextDue),
  };
}

function toLaneSettings(row: Row, secrets: readonly string[]): LaneSettings {
  return {
    url: String(row.url),
    rate: numberOf(row.rate),
    pausedUntil: numberOf(row.paused_until),
    failingSince: numberOf(row.failing_since),
    generation: Number(row.generation),
    privateKey: String(row.private_key),
    secrets,
  };
}

function toDueDelivery(row: Row, isAsked: boolean): DueDelivery {
  return {
    event: toEvent(row),
    trace: textOf(row.trace),
    due: Number(row.due),
    step: Number(row.step),
    generation: Number(row.generation),
    isAsked,
    suspicions: Number(row.suspicions),
  };
}

/** @param row with id, type, created_at, plant (as text: a number would lose digits), name and tag */
export function toEvent(row: Row): PlantEvent {
  const { type } = row;
  if (!isKnownType(type)) throw new Error(`The event ${row.id} has the unknown type ${type}.`);
  return {
    id: String(row.id),
    type,
    at: Number(row.created_at),
    plant: { id: BigInt(String(row.plant)), name: String(row.name), tag: textOf(row.tag) },
  };
}

/**
 * @param row with state, attempts, due, leased and reason, and the columns of `toEvent`
 * @param hook with `webhook` (the id), `is_disabled` and `paused_until`: nothing is sent during a pause
 */
export function toDelivery(row: Row, hook: Row): Delivery {
  const state = stateOf(row.state, Boolean(hook.is_disabled));
  const due = Math.max(Number(row.due), Number(hook.paused_until ?? 0));
  return {
    webhook: String(hook.webhook),
    event: toEvent(row),
    state,
    attempts: Number(row.attempts),
    nextAttemptAt: state === 'pending' && !row.leased ? due : undefined,
    reason: textOf(row.reason),
  };
}

/** The state as stored: a held delivery is a pending one of a disabled webhook. */
export function storedState(state: DeliveryState): Exclude<DeliveryState, 'held'> {
  return state === 'held' ? 'pending' : state;
}

/** The state that no delivery of an enabled, or disabled, webhook can have. */
export function absentState(isDisabled: boolean): DeliveryState {
  return isDisabled ? 'pending' : 'held';
}

function stateOf(stored: unknown, isDisabled: boolean): DeliveryState {
  if (stored === 'pending') return isDisabled ? 'held' : 'pending';
  if (stored === 'failed' || stored === 'delivered') return stored;
  throw new Error(`A delivery has the unknown state ${stored}.`);
}

export const noWebhooks: WebhooksReading = {
  enabled: 0,
  paused: 0,
  disabled: 0,
  oldestPending: undefined,
  oldestHeld: undefined,
  dueSince: undefined,
};

/** @param row with enabled, paused, disabled, oldest_pending, oldest_held and due_since of some webhooks */
export function addWebhooks(reading: WebhooksReading, row: Row): WebhooksReading {
  return {
    enabled: reading.enabled + Number(row.enabled),
    paused: reading.paused + Number(row.paused),
    disabled: reading.disabled + Number(row.disabled),
    // Event ids are ordered by time.
    oldestPending: first(reading.oldestPending, textOf(row.oldest_pending)),
    oldestHeld: first(reading.oldestHeld, textOf(row.oldest_held)),
    dueSince: first(reading.dueSince, numberOf(row.due_since)),
  };
}

function first<T extends string | number>(one: T | undefined, other: T | undefined): T | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}

function numberOf(value: unknown): number | undefined {
  return value === null ? undefined : Number(value);
}

function textOf(value: unknown): string | undefined {
  return value === null ? undefined : String(value);
}
