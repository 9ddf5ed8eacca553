import type { DatabaseSync } from 'node:sqlite';
import type { ExpiryPosition, ExpiryRequest } from '../../webhooks/port.ts';
import { behind } from './events.ts';
import type { OutboxWrites } from './outbox.ts';
import type { Snapshot } from './snapshot.ts';
import type { Standings } from './standings.ts';

/** The statements of long work in slices, for the connection that writes. */
export function choreWrites(db: DatabaseSync, outbox: OutboxWrites, standings: Standings) {
  const replay = replays(db, outbox, standings);
  const remove = removals(db);
  return {
    advance({ now, limit }: { now: number; limit: number }): void {
      replay(now, limit);
      remove(limit);
    },
    removeExpired: expiries(db),
  };
}

type Replay = {
  id: number;
  webhook: string;
  owner: number;
  state: string | null;
  next: string;
  through: string;
};

function replays(db: DatabaseSync, outbox: OutboxWrites, standings: Standings) {
  const first = db.prepare(
    'SELECT id, webhook, owner, state, next, through FROM replays ORDER BY id LIMIT 1',
  );
  const isDeleted = db.prepare(`SELECT 1 FROM webhooks WHERE id = ? AND status = 'deleted'`);
  // The next slice comes after those of all other replays.
  const goOn = db.prepare('UPDATE replays SET id = (SELECT max(id) + 1 FROM replays), next = ? WHERE id = ?');
  const end = db.prepare('DELETE FROM replays WHERE id = ?');
  const events = eventsAgain(db);
  const deliveries = deliveriesAgain(db);

  return (now: number, limit: number): void => {
    // A row of this statement has the members of `Replay`.
    const replay = first.get() as Replay | undefined;
    if (!replay) return;
    const slice = isDeleted.get(replay.webhook)
      ? { count: 0, last: undefined }
      : (replay.state === null ? events : deliveries)(replay, now, limit);
    if (slice.last === undefined || slice.count < limit) end.run(replay.id);
    else goOn.run(behind(slice.last), replay.id);
    standings.changed(replay.webhook);
    outbox.madeDue(slice.count);
  };
}

type Slice = { count: number; last: string | undefined };

/** The step of a delivery that is under way and whose schedule begins anew if that fails: no claim has it. */
const ANEW = -1;

/** Every event, those that the webhook had no delivery for included. */
function eventsAgain(db: DatabaseSync) {
  const list = db.prepare(
    `SELECT id
     FROM events
     WHERE owner = ? AND id >= ? AND id <= ? AND type = 'plant.created'
     ORDER BY id
     LIMIT CAST(? AS INTEGER)`,
  );
  // One that is under way is not sent twice: its schedule begins anew if it fails.
  const upsert = db.prepare(
    `INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, leased, fence)
     VALUES (?, ?, ?, 'pending', 0, 0, ?, 0, 0)
     ON CONFLICT (webhook, event) DO UPDATE
     SET state = 'pending', step = CASE leased WHEN 1 THEN ${ANEW} ELSE 0 END,
       due = CASE leased WHEN 1 THEN due ELSE excluded.due END`,
  );
  return ({ webhook, owner, next, through }: Replay, now: number, limit: number): Slice => {
    const ids = list.all(owner, next, through, limit).map(({ id }) => String(id));
    for (const id of ids) upsert.run(webhook, id, owner, now);
    return { count: ids.length, last: ids.at(-1) };
  };
}

/** The deliveries in one state. */
function deliveriesAgain(db: DatabaseSync) {
  const list = db.prepare(
    `SELECT event
     FROM deliveries
     WHERE webhook = ? AND state = ? AND event >= ? AND event <= ?
     ORDER BY event
     LIMIT CAST(? AS INTEGER)`,
  );
  const update = db.prepare(
    `UPDATE deliveries
     SET state = 'pending', step = CASE leased WHEN 1 THEN ${ANEW} ELSE 0 END,
       due = CASE leased WHEN 1 THEN due ELSE ? END
     WHERE webhook = ? AND event = ?`,
  );
  return ({ webhook, state, next, through }: Replay, now: number, limit: number): Slice => {
    const ids = list.all(webhook, state, next, through, limit).map(({ event }) => String(event));
    for (const id of ids) update.run(now, webhook, id);
    return { count: ids.length, last: ids.at(-1) };
  };
}

/** Removes a part of what a deleted webhook left, and at last the webhook. */
function removals(db: DatabaseSync): (limit: number) => void {
  const first = db.prepare(`SELECT id FROM webhooks WHERE status = 'deleted' LIMIT 1`);
  const deliveries = db.prepare(
    `DELETE FROM deliveries
     WHERE (webhook, event) IN (
       SELECT webhook, event
       FROM deliveries
       WHERE webhook = ?
       LIMIT CAST(? AS INTEGER)
     )`,
  );
  const attempts = db.prepare(
    `DELETE FROM attempts
     WHERE (webhook, event, fence) IN (
       SELECT webhook, event, fence
       FROM attempts
       WHERE webhook = ?
       LIMIT CAST(? AS INTEGER)
     )`,
  );
  const webhook = db.prepare('DELETE FROM webhooks WHERE id = ?');
  return (limit) => {
    const id = first.get()?.id;
    if (typeof id !== 'string' || attempts.run(id, limit).changes === limit) return;
    if (deliveries.run(id, limit).changes < limit) webhook.run(id);
  };
}

function expiries(db: DatabaseSync): (request: ExpiryRequest) => ExpiryPosition | undefined {
  const owners = db.prepare('SELECT min(id) AS id FROM users WHERE id > ?');
  const old = db.prepare(
    `SELECT id
     FROM events
     WHERE owner = ? AND id > ? AND id < ?
     ORDER BY id
     LIMIT CAST(? AS INTEGER)`,
  );
  const webhooksOf = db.prepare('SELECT id, status FROM webhooks WHERE owner = ?');
  const remove = removalOfEvents(db);

  return ({ before, from, limit }) => {
    let owner = from?.owner ?? 0;
    let last = from?.event ?? '';
    for (let left = limit; left > 0; ) {
      const webhooks = webhooksOf.all(owner).map(toSubscriber);
      // An event, and for each webhook a delivery and its attempts, of which most have one.
      const rows = 1 + 2 * webhooks.length;
      const most = Math.ceil(left / rows);
      const events = old.all(owner, last, before, most).map(({ id }) => String(id));
      remove(owner, webhooks, events);
      last = events.at(-1) ?? last;
      if (events.length === most) return { owner, event: last };
      left -= Math.max(1, events.length * rows);
      const next = owners.get(owner)?.id;
      if (typeof next !== 'number') return undefined;
      owner = next;
      last = '';
    }
    return { owner, event: last };
  };
}

type Subscriber = { id: string; isDeleted: boolean };

function toSubscriber(row: Record<string, unknown>): Subscriber {
  return { id: String(row.id), isDeleted: row.status === 'deleted' };
}

function removalOfEvents(db: DatabaseSync) {
  const waits = db.prepare(
    `SELECT 1
     FROM deliveries
     WHERE webhook = ? AND event = ? AND state = 'pending'`,
  );
  const removeDelivery = db.prepare('DELETE FROM deliveries WHERE webhook = ? AND event = ?');
  const removeEvent = db.prepare('DELETE FROM events WHERE owner = ? AND id = ? RETURNING type');
  const note = db.prepare(
    `INSERT INTO removed_events (owner, event)
     VALUES (?, ?)
     ON CONFLICT (owner) DO UPDATE
     SET event = max(event, excluded.event)`,
  );

  return (owner: number, webhooks: Subscriber[], events: string[]): void => {
    for (const event of events) {
      if (webhooks.some(({ id, isDeleted }) => !isDeleted && waits.get(id, event))) continue;
      for (const { id } of webhooks) removeDelivery.run(id, event);
      if (removeEvent.get(owner, event)?.type === 'plant.created') note.run(owner, event);
    }
  };
}

/** Whether there is long work to go on with. */
export function choreReads(db: DatabaseSync, snapshot: Snapshot) {
  const any = db.prepare(
    `SELECT 1
     WHERE EXISTS (SELECT 1 FROM replays)
        OR EXISTS (SELECT 1 FROM webhooks WHERE status = 'deleted')`,
  );
  return { hasChores: (): boolean => snapshot.read(() => any.get() !== undefined) };
}
