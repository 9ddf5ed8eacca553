import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { feeds as limits } from '../../../limits.ts';
import type {
  AttemptRecord,
  Delivery,
  NewestQuery,
  PlantEventsQuery,
  RedeliverRequest,
  ReplayRequest,
  WebhookHealth,
} from '../../../webhooks/port.ts';
import { behind, countIn, END, latest } from '../../event-ids.ts';
import { absentState, FEED_TYPES, KNOWN_TYPES, storedState, toAttempt, toDelivery } from '../../rows.ts';
import { IS_VISIBLE, ownersVisibleTo } from '../access/shares.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { prepare } from '../engine/prepare.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { type OutboxWrites, webhookOwners } from './outbox.ts';

export function deliveryWrites(db: DatabaseSync, outbox: OutboxWrites) {
  const owns = webhookOwners(db);
  // It is sent at once, even during an attempt: the higher generation voids the outcome of that attempt.
  const redeliver = prepare(db)`UPDATE deliveries
    SET state = 'pending', step = 0, due = ?, generation = generation + 1, asked = 1, suspicions = 0
    WHERE webhook = ? AND event = ?`;
  const newestEvent = db.prepare('SELECT max(id) AS id FROM events WHERE owner = ?');
  const visibleTo = ownersVisibleTo(db);
  const newestDelivery = db.prepare('SELECT max(event) AS id FROM deliveries WHERE webhook = ?');
  const countReplays = db.prepare('SELECT count(*) AS count FROM replays WHERE webhook = ? AND hastens = 0');
  const isDisabled = disabledWebhooks(db);
  const insertReplay = prepare(db)`INSERT INTO replays (webhook, owner, hastens, state, next, through)
    VALUES (?, ?, 0, ?, ?, ?)`;

  function newestVisible(viewer: number): string | undefined {
    const owners = visibleTo(viewer);
    return latest(owners.map((owner) => newestEvent.get(owner)?.id));
  }

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
      const through = state === undefined ? newestVisible(owner) : latest([newestDelivery.get(webhook)?.id]);
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

function disabledWebhooks(db: DatabaseSync): (webhook: string) => boolean {
  const query = db.prepare(`SELECT 1 FROM webhooks WHERE id = ? AND status = 'disabled'`);
  return (webhook) => query.get(webhook) !== undefined;
}

function deliveryCounts(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const ofState = prepare(db)`SELECT count(*) AS count, count(*) AS seen, max(event) AS last
    FROM (
      SELECT event
      FROM deliveries
      WHERE webhook = ? AND state = ? AND event >= ?
      ORDER BY event
      LIMIT ${limits.counted}
    )`;
  const ofOwner = prepare(
    db,
  )`SELECT count(*) FILTER (WHERE type IN (${FEED_TYPES})) AS count, count(*) AS seen, max(id) AS last
    FROM (
      SELECT id, type
      FROM events
      WHERE owner = ? AND id >= ?
      ORDER BY id
      LIMIT ${limits.counted}
    )`;
  const oldest = prepare(db)`SELECT e.created_at AS at
    FROM deliveries d INDEXED BY deliveries_by_state
    JOIN events e ON e.owner = d.owner AND e.id = d.event
    WHERE d.webhook = ? AND d.state = 'pending'
    ORDER BY d.event
    LIMIT 1`;
  const isDisabled = disabledWebhooks(db);
  const count = (part: StatementSync, keys: readonly (string | number)[], first: string) =>
    countIn((from) => snapshot.read(() => part.get(...keys, from)), first);

  async function countEvents(owners: readonly number[], from: string): Promise<number> {
    let total = 0;
    for (const owner of owners) total += await count(ofOwner, [owner], from);
    return total;
  }

  return {
    async health(webhook: string): Promise<WebhookHealth> {
      const at = snapshot.read(() => oldest.get(webhook)?.at);
      return {
        waiting: await count(ofState, [webhook, 'pending'], ''),
        failed: await count(ofState, [webhook, 'failed'], ''),
        oldestWaitingAt: at === undefined ? undefined : Number(at),
      };
    },
    async countReplay({ owner, webhook, from, state }: ReplayRequest): Promise<number> {
      if (state === undefined) return countEvents(visible.of(owner), from);
      if (state === absentState(snapshot.read(() => isDisabled(webhook)))) return 0;
      return count(ofState, [webhook, storedState(state)], from);
    },
  };
}
