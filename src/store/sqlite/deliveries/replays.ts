import type { DatabaseSync } from 'node:sqlite';
import { ANEW } from '../../../webhooks/delivery/port.ts';
import { behind } from '../../event-ids.ts';
import { ownersVisibleTo } from '../access/shares.ts';
import { eventWalk } from './events.ts';
import type { OutboxWrites } from './outbox.ts';

type Replay = {
  id: number;
  webhook: string;
  owner: number;
  state: string | null;
  next: string;
  through: string;
};

/** Advances the replay whose turn it is. */
export function replays(db: DatabaseSync, outbox: OutboxWrites) {
  // Waits until the deliveries of an earlier share are dropped: those that a replay creates would be dropped, too.
  const first = db.prepare(`SELECT id, webhook, owner, state, next, through
    FROM replays
    WHERE NOT EXISTS (SELECT 1 FROM withdrawals WHERE webhook = replays.webhook)
    ORDER BY id
    LIMIT 1`);
  const isDeleted = db.prepare(`SELECT 1 FROM webhooks WHERE id = ? AND status = 'deleted'`);
  // Moves the replay to the end of the queue.
  const goOn = db.prepare('UPDATE replays SET id = (SELECT max(id) + 1 FROM replays), next = ? WHERE id = ?');
  const end = db.prepare('DELETE FROM replays WHERE id = ?');
  const events = eventsAgain(db);
  const deliveries = deliveriesAgain(db);

  return (now: number, limit: number): void => {
    // The statement selects the members of `Replay`.
    const replay = first.get() as Replay | undefined;
    if (!replay) return;
    const slice = isDeleted.get(replay.webhook)
      ? { count: 0, last: undefined }
      : (replay.state === null ? events : deliveries)(replay, now, limit);
    if (slice.last === undefined || slice.count < limit) end.run(replay.id);
    else goOn.run(behind(slice.last), replay.id);
    if (slice.count > 0) outbox.hasWork(replay.webhook, now);
  };
}

type Slice = { count: number; last: string | undefined };

/** Every event, including those that the webhook has no delivery for. */
function eventsAgain(db: DatabaseSync) {
  const walk = eventWalk(db);
  const visibleTo = ownersVisibleTo(db);
  // A delivery in flight is not sent twice: it keeps its generation, and its schedule restarts if the attempt fails.
  const upsert = db.prepare(`INSERT INTO deliveries
    (webhook, event, owner, state, attempts, step, due, generation)
    VALUES (?, ?, ?, 'pending', 0, 0, ?, 0)
    ON CONFLICT (webhook, event) DO UPDATE
    SET state = 'pending', step = ${ANEW}, due = excluded.due, suspicions = 0`);
  return ({ webhook, owner: viewer, next, through }: Replay, now: number, limit: number): Slice => {
    const events = walk(visibleTo(viewer), next, through, limit);
    for (const { id, owner } of events) upsert.run(webhook, String(id), Number(owner), now);
    return { count: events.length, last: events.length > 0 ? String(events.at(-1)?.id) : undefined };
  };
}

function deliveriesAgain(db: DatabaseSync) {
  const list = db.prepare(`SELECT event
    FROM deliveries
    WHERE webhook = ? AND state = ? AND event >= ? AND event <= ?
    ORDER BY event
    LIMIT CAST(? AS INTEGER)`);
  const update = db.prepare(`UPDATE deliveries
    SET state = 'pending', step = ${ANEW}, due = ?, suspicions = 0
    WHERE webhook = ? AND event = ?`);
  return ({ webhook, state, next, through }: Replay, now: number, limit: number): Slice => {
    const ids = list.all(webhook, state, next, through, limit).map(({ event }) => String(event));
    for (const id of ids) update.run(now, webhook, id);
    return { count: ids.length, last: ids.at(-1) };
  };
}
