import type { DatabaseSync } from 'node:sqlite';
import { behind } from '../event-ids.ts';
import { eventWalk } from './event-walk.ts';
import type { OutboxWrites } from './outbox.ts';
import { ownersVisibleTo } from './shares.ts';
import type { Standings } from './standings.ts';

type Replay = {
  id: number;
  webhook: string;
  owner: number;
  state: string | null;
  next: string;
  through: string;
};

/** Goes on with the replay whose turn it is. */
export function replays(db: DatabaseSync, outbox: OutboxWrites, standings: Standings) {
  // Not while deliveries of an earlier share go: those that a replay makes would go with them.
  const first = db.prepare(
    `SELECT id, webhook, owner, state, next, through
     FROM replays
     WHERE NOT EXISTS (SELECT 1 FROM withdrawals WHERE webhook = replays.webhook)
     ORDER BY id
     LIMIT 1`,
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
  const walk = eventWalk(db);
  const visibleTo = ownersVisibleTo(db);
  // One that is under way is not sent twice: its schedule begins anew if it fails.
  const upsert = db.prepare(
    `INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, leased, fence)
     VALUES (?, ?, ?, 'pending', 0, 0, ?, 0, 0)
     ON CONFLICT (webhook, event) DO UPDATE
     SET state = 'pending', step = CASE leased WHEN 1 THEN ${ANEW} ELSE 0 END,
       due = CASE leased WHEN 1 THEN due ELSE excluded.due END`,
  );
  return ({ webhook, owner: viewer, next, through }: Replay, now: number, limit: number): Slice => {
    const events = walk(visibleTo(viewer), next, through, limit);
    for (const { id, owner } of events) upsert.run(webhook, String(id), Number(owner), now);
    return { count: events.length, last: events.length > 0 ? String(events.at(-1)?.id) : undefined };
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
