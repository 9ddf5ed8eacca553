import type { DatabaseSync } from 'node:sqlite';
import type {
  AttemptRecord,
  Delivery,
  NewestQuery,
  PlantEventsQuery,
  RedeliverRequest,
  ReplayRequest,
} from '../../../webhooks/port.ts';
import { behind, END, latest } from '../../event-ids.ts';
import { absentState, KNOWN_TYPES, storedState, toAttempt, toDelivery } from '../../rows.ts';
import { IS_VISIBLE, ownersVisibleTo } from '../access/shares.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { prepare } from '../engine/prepare.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { deliveryCounts, disabledWebhooks } from './delivery-counts.ts';
import { newestEvent } from './events.ts';
import { type OutboxWrites, webhookOwners } from './outbox.ts';

export function deliveryWrites(db: DatabaseSync, outbox: OutboxWrites) {
  const owns = webhookOwners(db);
  // It is sent at once, even during an attempt: the higher generation voids the outcome of that attempt.
  const redeliver = prepare(db)`UPDATE deliveries
    SET state = 'pending', step = 0, due = ?, generation = generation + 1, asked = 1, suspicions = 0
    WHERE webhook = ? AND event = ?`;
  const newestOf = newestEvent(db);
  const visibleTo = ownersVisibleTo(db);
  const newestDelivery = db.prepare('SELECT max(event) AS id FROM deliveries WHERE webhook = ?');
  const countReplays = db.prepare('SELECT count(*) AS count FROM replays WHERE webhook = ? AND hastens = 0');
  const isDisabled = disabledWebhooks(db);
  const insertReplay = prepare(db)`INSERT INTO replays (webhook, owner, hastens, state, next, through)
    VALUES (?, ?, 0, ?, ?, ?)`;

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
const EVENTS = `JOIN events e ON e.owner = d.owner AND e.id = d.event AND e.type IN (${KNOWN_TYPES})`;

export function deliveryReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const one = prepare(db)`SELECT ${COLUMNS}
    FROM deliveries d
    ${EVENTS}
    WHERE d.webhook = ? AND d.event = ? AND ${IS_VISIBLE}`;
  const attempts = prepare(db)`SELECT at, duration_ms, address, status, excerpt, error
    FROM attempts
    WHERE webhook = ? AND event = ?
    ORDER BY generation`;
  const isDisabled = disabledWebhooks(db);

  return {
    newest: newestDeliveries(db, snapshot),
    plantEvents: plantEvents(db, snapshot, visible),
    delivery: async (webhook: string, event: string): Promise<Delivery | undefined> =>
      snapshot.read(() => {
        const row = one.get(webhook, event);
        return row && toDelivery(row, webhook, isDisabled(webhook));
      }),
    attempts: async (webhook: string, event: string): Promise<AttemptRecord[]> =>
      snapshot.read(() => attempts.all(webhook, event).map(toAttempt)),
    ...deliveryCounts(db, snapshot, visible),
  };
}

/** The newest deliveries of each of some webhooks. */
function newestDeliveries(db: DatabaseSync, snapshot: Snapshot) {
  const all = prepare(db)`SELECT ${COLUMNS}
    FROM deliveries d
    ${EVENTS}
    WHERE d.webhook = ? AND d.event < ? AND d.event >= ? AND ${IS_VISIBLE}
    ORDER BY d.event DESC
    LIMIT CAST(? AS INTEGER)`;
  // Without statistics SQLite would scan the deliveries in every state.
  const inState = prepare(db)`SELECT ${COLUMNS}
    FROM deliveries d INDEXED BY deliveries_by_state
    ${EVENTS}
    WHERE d.webhook = ? AND d.state = ? AND d.event < ? AND d.event >= ? AND ${IS_VISIBLE}
    ORDER BY d.event DESC
    LIMIT CAST(? AS INTEGER)`;
  const ofEvents = prepare(db)`SELECT ${COLUMNS}
    FROM deliveries d
    ${EVENTS}
    WHERE d.webhook = ? AND d.event IN (SELECT value FROM json_each(?)) AND d.event < ?
      AND d.state = ifnull(?, d.state) AND ${IS_VISIBLE}`;
  const isDisabled = disabledWebhooks(db);

  return async ({ webhooks, state, from, events, limit, page }: NewestQuery): Promise<Delivery[]> => {
    const stored = state === undefined ? null : storedState(state);
    let newest: string[] = [];
    return snapshot.read(() =>
      // The last first: once a page is full, each webhook before them adds only deliveries of newer events.
      webhooks.toReversed().flatMap(({ webhook, before = END }) => {
        const isHeld = isDisabled(webhook);
        if (state === absentState(isHeld)) return [];
        const last = newest[page - 1];
        const since = last === undefined ? from : behind(last);
        const rows = events
          ? ofEvents.all(webhook, JSON.stringify(events), before, stored)
          : stored === null
            ? all.all(webhook, before, since, limit)
            : inState.all(webhook, stored, before, since, limit);
        const found = rows.map((row) => toDelivery(row, webhook, isHeld));
        newest.push(...found.map(({ event }) => event.id));
        newest = newest.sort().reverse().slice(0, page);
        return found;
      }),
    );
  };
}

function plantEvents(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const ofPlant = prepare(db)`SELECT id
    FROM events INDEXED BY events_by_plant
    WHERE owner = ? AND plant = ? AND type = 'plant.created' AND id < ? AND id >= ?
    ORDER BY id DESC
    LIMIT CAST(? AS INTEGER)`;

  return async ({ viewer, plant, from, before = END, limit }: PlantEventsQuery): Promise<string[]> => {
    const found = snapshot.read(() =>
      visible.of(viewer).flatMap((owner) => ofPlant.all(owner, plant, before, from, limit)),
    );
    const ids = found.map(({ id }) => String(id)).sort();
    return ids.reverse().slice(0, limit);
  };
}
