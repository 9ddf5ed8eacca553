import type { Work } from '../../../src/webhooks/delivery/port.ts';
import type { AttemptRecord, EventType } from '../../../src/webhooks/port.ts';

/** The rows of the store in memory, and operations that several of its parts share. */
export type Rows = {
  /** The database's time. */
  now(): number;
  webhooks: Map<string, WebhookRow>;
  events: Map<string, EventRow>;
  /** By webhook, then by event. */
  deliveries: Map<string, Map<string, DeliveryRow>>;
  /** The pending ones among these. */
  pending: Map<string, Map<string, DeliveryRow>>;
  /** `owner>viewer`. */
  shares: Set<string>;
  made: number;
  lanes: Map<string, LaneRow>;
  replicas: Map<string, { aliveUntil: number; dispatches: boolean }>;
  listeners: { work: ((work: readonly Work[]) => void)[]; change: ((webhook: string) => void)[] };
};

export type WebhookRow = {
  id: string;
  owner: number;
  url: string;
  status: 'enabled' | 'disabled' | 'deleted';
  disabledReason: string | undefined;
  rate: number | undefined;
  secrets: string[];
  pausedUntil: number | undefined;
  failingSince: number | undefined;
  lastSuccessAt: number | undefined;
  lastFailureAt: number | undefined;
  generation: number;
  /** Increases with each change that the lane must learn of; not part of the port. */
  version: number;
};

export type EventRow = { id: string; owner: number; type: EventType; at: number };

export type DeliveryRow = {
  webhook: string;
  event: EventRow;
  /** Unique per row, since a removed row may be inserted again. Not part of the port. */
  made: number;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  step: number;
  due: number;
  generation: number;
  isAsked: boolean;
  /** When it was last resent. Not part of the port. */
  askedAt: number;
  suspicions: number;
  reason: string | undefined;
  /** By the generation after them. */
  kept: Map<number, AttemptRecord>;
};

export type LaneRow = { replica: string | undefined; fence: number };

export function createRows(now: () => number): Rows {
  return {
    now,
    webhooks: new Map(),
    events: new Map(),
    deliveries: new Map(),
    pending: new Map(),
    shares: new Set(),
    made: 0,
    lanes: new Map(),
    replicas: new Map(),
    listeners: { work: [], change: [] },
  };
}

/** Whether the webhook's owner has access to the plant. */
export function isVisible({ webhooks, shares }: Rows, webhook: string, { owner }: EventRow): boolean {
  const viewer = webhooks.get(webhook)?.owner;
  return owner === viewer || shares.has(`${owner}>${viewer}`);
}

export function deliveriesOf(rows: Rows, webhook: string): Map<string, DeliveryRow> {
  return of(rows.deliveries, webhook);
}

export function pendingOf(rows: Rows, webhook: string): Map<string, DeliveryRow> {
  return of(rows.pending, webhook);
}

function of(map: Map<string, Map<string, DeliveryRow>>, webhook: string): Map<string, DeliveryRow> {
  const known = map.get(webhook);
  if (known) return known;
  const made = new Map<string, DeliveryRow>();
  map.set(webhook, made);
  return made;
}

export function insertDelivery(rows: Rows, webhook: string, event: EventRow, due: number): DeliveryRow {
  const row: DeliveryRow = {
    webhook,
    event,
    made: ++rows.made,
    state: 'pending',
    attempts: 0,
    step: 0,
    due,
    generation: 0,
    isAsked: false,
    askedAt: -Infinity,
    suspicions: 0,
    reason: undefined,
    kept: new Map(),
  };
  deliveriesOf(rows, webhook).set(event.id, row);
  pendingOf(rows, webhook).set(event.id, row);
  return row;
}

export function removeDelivery(rows: Rows, { webhook, event }: DeliveryRow): void {
  deliveriesOf(rows, webhook).delete(event.id);
  pendingOf(rows, webhook).delete(event.id);
}

/** Makes it due now with a new schedule, whatever its state and whether it is being sent. */
export function beginAnew(rows: Rows, row: DeliveryRow): void {
  Object.assign(row, { state: 'pending', step: Math.min(row.step, 0) - 1, due: rows.now(), suspicions: 0 });
  pendingOf(rows, row.webhook).set(row.event.id, row);
}
