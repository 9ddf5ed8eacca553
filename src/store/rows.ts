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

/** From a row with a column for each member, and no other: `created_at` becomes `createdAt`, and null undefined. */
export function toRecord<T>(row: Row): T {
  const record: Record<string, unknown> = {};
  for (const column in row) record[members.getOrInsertComputed(column, memberOf)] = row[column] ?? undefined;
  // The statements of both stores select the members of the types that they give here.
  return record as T;
}

/** By column: a lane is read for every few deliveries. */
const members = new Map<string, string>();

function memberOf(column: string): string {
  return column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

export const toUser = toRecord<User>;
export const toBelongings = toRecord<Belongings>;
export const toShare = toRecord<Share>;
export const toKeptRecord = toRecord<KeptRecord>;
export const toWebhook = toRecord<Webhook>;
export const toAttempt = toRecord<AttemptRecord>;

export const USER_COLUMNS = 'id, name, created_at, disabled_at';

export const WEBHOOK_COLUMNS = `id, owner, url, description, rate, status, disabled_reason, paused_until, public_key, created_at,
    last_success_at, last_failure_at`;

export const ATTEMPT_COLUMNS = 'at, duration_ms, address, status, excerpt, error';

/** @param user the column with the id of a token's user */
export const belongingsOf = (user: string) => `SELECT
    (SELECT count(*) FROM plants WHERE owner = u.id) AS plants,
    (SELECT count(*) FROM webhooks WHERE owner = u.id AND status <> 'deleted') AS webhooks,
    (SELECT count(*) FROM tokens WHERE ${user} = u.id) AS tokens,
    (SELECT count(*) FROM shares WHERE owner = u.id) + (SELECT count(*) FROM shares WHERE viewer = u.id) AS shares
  FROM users u`;

export const SHARES = `SELECT o.name AS owner, v.name AS viewer, s.created_at
  FROM shares s
  JOIN users o ON o.id = s.owner
  JOIN users v ON v.id = s.viewer
  ORDER BY o.name, v.name`;

/** @param user as for `belongingsOf` */
export const tokensWith = (user: string) => `SELECT t.id, t.${user} AS "user", u.name, u.disabled_at, t.label,
    t.scopes, t.created_at, t.expires_at, t.revoked_at, t.replaced_by, t.bootstrap AS is_bootstrap, t.last_used_on
  FROM tokens t
  JOIN users u ON u.id = t.${user}`;

export function toToken({ user, name, disabled_at, scopes, is_bootstrap, ...row }: Row): StoredToken {
  return {
    ...toRecord<Omit<StoredToken, 'user' | 'scopes' | 'isBootstrap'>>(row),
    user: { id: Number(user), name: String(name), isDisabled: disabled_at !== null },
    scopes: String(scopes).split(' ').filter(isScope),
    isBootstrap: Boolean(is_bootstrap),
  };
}

export const CURSOR_KEYS = `SELECT c.secret, m.value AS store_key
  FROM cursor_key c
  JOIN meta m ON m.name = 'key'`;

export function toCursorKeys({ secret, store_key: storeKey }: Row): CursorKeys {
  return { secret: String(secret), storeKey: Number(storeKey) };
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
  /** A row for `toRecord`, without the secrets. */
  settings: Row;
  /** The live secrets, newest first. */
  secrets: readonly string[];
  /** In order, each with its `event`, due, step, generation and suspicions, and the columns of `toEvent`. */
  asked: readonly Row[];
  due: readonly Row[];
  through?: LaneContents['through'] | undefined;
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
  const { secrets, asked, due, through, nextDue } = rows;
  const missing = [...asked, ...due].filter(({ id }) => id === null);
  if (missing.length > 0) {
    await giveUp(missing.map(({ event }) => String(event)));
    return readLane(read, giveUp);
  }
  return {
    settings: { ...toRecord<Omit<LaneSettings, 'secrets'>>(rows.settings), secrets },
    asked: asked.map((row) => toDueDelivery(row, true)),
    due: due.map((row) => toDueDelivery(row, false)),
    ...(through && { through }),
    nextDue: numberOf(nextDue),
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
  const type = eventTypes.find((known) => known === row.type);
  if (!type) throw new Error(`The event ${row.id} has the unknown type ${row.type}.`);
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
