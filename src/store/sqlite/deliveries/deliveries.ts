import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { feeds as limits } from '../../../limits.ts';
import type {
  DeliveriesQuery,
  Delivery,
  DeliveryHistory,
  DeliveryPosition,
  PlantEventsQuery,
  RedeliverRequest,
  ReplayRequest,
} from '../../../webhooks/port.ts';
import { behind, END, FIRST, latest } from '../../event-ids.ts';
import { ATTEMPT_COLUMNS, absentState, KNOWN_TYPES, storedState, toAttempt, toDelivery } from '../../rows.ts';
import { IS_VISIBLE, ownersVisibleTo } from '../access/shares.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { deliveryCounts, disabledWebhooks } from './delivery-counts.ts';
import { firstOf, newestEvent } from './events.ts';
import { type OutboxWrites, webhookOwners } from './outbox.ts';

export function deliveryWrites(db: DatabaseSync, outbox: OutboxWrites) {
  const owns = webhookOwners(db);
  // It is sent at once, even during an attempt: the higher generation voids the outcome of that attempt.
  const redeliver = db.prepare(`UPDATE deliveries
    SET state = 'pending', step = 0, due = ?, generation = generation + 1, asked = 1, suspicions = 0
    WHERE webhook = ? AND event = ?`);
  const newestOf = newestEvent(db);
  const visibleTo = ownersVisibleTo(db);
  const newestDelivery = db.prepare('SELECT max(event) AS id FROM deliveries WHERE webhook = ?');
  const countReplays = db.prepare('SELECT count(*) AS count FROM replays WHERE webhook = ? AND hastens = 0');
  const isDisabled = disabledWebhooks(db);
  const insertReplay = db.prepare(`INSERT INTO replays (webhook, owner, hastens, state, next, through)
    VALUES (?, ?, 0, ?, ?, ?)`);

  return {
    redeliver({ owner, webhook, event, at }: RedeliverRequest) {
      if (!owns(owner, webhook)) return 'no webhook' as const;
      if (redeliver.run(at, webhook, event).changes === 0) return 'no delivery' as const;
      outbox.hasWork(webhook, at, true);
      return 'redelivered' as const;
    },
    startReplay({ owner, webhook, from, state }: ReplayRequest, most: number): boolean {
      if (Number(countReplays.get(webhook)?.count) >= most) return false;
      if (!owns(owner, webhook) || state === absentState(isDisabled(webhook))) return true;
      const through =
        state === undefined ? newestOf(visibleTo(owner)) : latest([newestDelivery.get(webhook)?.id]);
      if (through !== undefined) {
        insertReplay.run(webhook, owner, state === undefined ? null : storedState(state), from, through);
      }
      return true;
    },
  };
}

const COLUMNS = `d.state, d.attempts, d.due, d.reason,
       e.id, e.type, e.created_at, CAST(e.plant AS TEXT) AS plant, e.name, e.tag`;
const HOOK = `id AS webhook, status = 'disabled' AS is_disabled, paused_until`;
const EVENTS = `JOIN events e ON e.owner = d.owner AND e.id = d.event AND e.type IN (${KNOWN_TYPES})`;

export function deliveryReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const pageOf = deliveryPage(db);
  const attempts = db.prepare(`SELECT ${ATTEMPT_COLUMNS}
    FROM attempts
    WHERE webhook = ?1 AND event = ?2 AND EXISTS (SELECT 1 FROM webhooks WHERE id = ?1 AND owner = ?3)
    ORDER BY generation`);
  const one = { state: undefined, from: '', after: undefined, limit: 1 };

  return {
    async page(query: DeliveriesQuery): Promise<Delivery[]> {
      const found: Delivery[] = [];
      for (let { after } = query; ; await setImmediate()) {
        const part = { ...query, after, limit: query.limit - found.length };
        const { deliveries, from } = snapshot.read(() => pageOf(part));
        found.push(...deliveries);
        if (found.length === query.limit || from === query.from) return found;
        after = { event: from, webhook: '' };
      }
    },
    plantEvents: plantEvents(db, snapshot, visible),
    history: async (owner: number, webhook: string, event: string): Promise<DeliveryHistory> =>
      snapshot.read(() => ({
        delivery: pageOf({ owner, webhook, events: [event], ...one }).deliveries[0],
        attempts: attempts.all(webhook, event, owner).map(toAttempt),
      })),
    ...deliveryCounts(db, snapshot, visible),
  };
}

function deliveryPage(db: DatabaseSync) {
  // Of one event, the delivery to the webhook with the higher id comes first: once the page is full, the webhooks that
  // follow add only newer events.
  const webhooksOf =
    db.prepare(`SELECT ${HOOK}, EXISTS (SELECT 1 FROM withdrawals WHERE webhook = id) AS has_hidden
    FROM webhooks
    WHERE owner = ? AND status <> 'deleted' AND id = ifnull(?, id)
    ORDER BY id DESC`);
  const newestDeliveries = deliveriesBetween(db);
  const beginPart = partBeginnings(db);

  /** A page, or the part of it from the event `from` on. */
  return (query: DeliveriesQuery): { deliveries: Delivery[]; from: string } => {
    const { owner, webhook, state, after = FIRST, limit } = query;
    const hooks = webhooksOf
      .all(owner, webhook ?? null)
      .filter((hook) => state !== absentState(hook.is_disabled === 1));
    const from = beginPart(query, hooks);
    const newest = newestDeliveries(query);
    const read = (hook: Row, most: number, last?: Found, through?: Found) =>
      newest(hook, through ? boundIn(hook, through) : from, last?.event ?? boundIn(hook, after), most);
    const found = firstOf(hooks, limit, read, lastFirst);
    return { deliveries: found.map(({ row, hook }) => toDelivery(row, hook)), from };
  };
}

type Row = Readonly<Record<string, SQLOutputValue>>;
type Found = DeliveryPosition & { hook: Row; row: Row };

function lastFirst(one: Found, other: Found): number {
  if (one.event !== other.event) return one.event < other.event ? 1 : -1;
  return one.webhook < other.webhook ? 1 : -1;
}

/** Before this event, the deliveries of a webhook follow the position; from it on, they do not. */
function boundIn({ webhook }: Row, position: DeliveryPosition): string {
  return String(webhook) < position.webhook ? behind(position.event) : position.event;
}

/**
 * The first event of what one turn of the event loop reads. A webhook has many deliveries that no page shows only while
 * those of a removed share are being dropped.
 */
function partBeginnings(db: DatabaseSync) {
  const farthest = (deliveries: string, condition = 'true') =>
    db.prepare(`SELECT event
    FROM ${deliveries}
    WHERE webhook = ? AND event >= ? AND event < ? AND ${condition}
    ORDER BY event DESC
    LIMIT 1 OFFSET CAST(? AS INTEGER)`);
  const all = farthest('deliveries');
  const inState = farthest('deliveries INDEXED BY deliveries_by_state', 'state = ?');

  return ({ state, events, from, after = FIRST }: DeliveriesQuery, hooks: readonly Row[]): string => {
    const hiding = events ? [] : hooks.filter((hook) => hook.has_hidden === 1);
    const share = Math.ceil(limits.walked / hiding.length);
    const statement = state === undefined ? all : inState;
    const rest = state === undefined ? [share] : [storedState(state), share];
    const ends = hiding.map((hook) =>
      statement.get(String(hook.webhook), from, behind(after.event), ...rest),
    );
    return latest(ends.map((row) => row?.event)) ?? from;
  };
}

/** The newest deliveries of a webhook that a query selects, of events from one on and before another. */
function deliveriesBetween(db: DatabaseSync) {
  const selecting = (deliveries: string, condition = 'true') =>
    db.prepare(`SELECT ${COLUMNS}
    FROM ${deliveries}
    ${EVENTS}
    WHERE d.webhook = ? AND d.event >= ? AND d.event < ? AND ${condition} AND ${IS_VISIBLE}
    ORDER BY d.event DESC
    LIMIT CAST(? AS INTEGER)`);
  const all = selecting('deliveries d');
  // Without statistics SQLite would scan the deliveries in every state.
  const inState = selecting('deliveries d INDEXED BY deliveries_by_state', 'd.state = ?');
  const ofEvents = selecting(
    'deliveries d',
    'd.event IN (SELECT value FROM json_each(?)) AND d.state = ifnull(?, d.state)',
  );

  return ({ state, events }: DeliveriesQuery) => {
    const stored = state === undefined ? null : storedState(state);
    const [statement, values] = events
      ? [ofEvents, [JSON.stringify(events), stored]]
      : stored === null
        ? [all, []]
        : [inState, [stored]];
    return (hook: Row, from: string, before: string, limit: number): Found[] =>
      statement
        .all(String(hook.webhook), from, before, ...values, limit)
        .map((row) => ({ hook, row, event: String(row.id), webhook: String(hook.webhook) }));
  };
}

function plantEvents(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const ofPlant = db.prepare(`SELECT id
    FROM events INDEXED BY events_by_plant
    WHERE owner = ? AND plant = ? AND type = 'plant.created' AND id < ? AND id >= ?
    ORDER BY id DESC
    LIMIT CAST(? AS INTEGER)`);

  return async ({ viewer, plant, from, before = END, limit }: PlantEventsQuery): Promise<string[]> => {
    const found = snapshot.read(() =>
      visible.of(viewer).flatMap((owner) => ofPlant.all(owner, plant, before, from, limit)),
    );
    const ids = found.map(({ id }) => String(id)).sort();
    return ids.reverse().slice(0, limit);
  };
}
