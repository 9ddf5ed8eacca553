import type { DatabaseSync } from 'node:sqlite';
import { behind, latest } from '../../event-ids.ts';
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

/** Advances the replay whose turn it is: users take turns, since one may have a thousand replays. */
export function replays(db: DatabaseSync, outbox: OutboxWrites) {
  // Waits until the deliveries of an earlier share are dropped: those that a replay creates would be dropped, too.
  const ready = 'NOT EXISTS (SELECT 1 FROM withdrawals WHERE webhook = replays.webhook)';
  const first = db.prepare(`SELECT id, webhook, owner, state, next, through
    FROM replays
    WHERE ${ready} AND owner = (
      SELECT ifnull(min(owner) FILTER (WHERE owner > ?), min(owner))
      FROM replays
      WHERE ${ready}
    )
    ORDER BY id
    LIMIT 1`);
  let served = 0;
  const isDeleted = db.prepare(`SELECT 1 FROM webhooks WHERE id = ? AND status = 'deleted'`);
  // Moves the replay to the end of its user's queue.
  const goOn = db.prepare('UPDATE replays SET id = (SELECT max(id) + 1 FROM replays), next = ? WHERE id = ?');
  const end = db.prepare('DELETE FROM replays WHERE id = ?');
  const events = eventsAgain(db);
  const deliveries = deliveriesAgain(db);

  return (now: number, limit: number): void => {
    // The statement selects the members of `Replay`.
    const replay = first.get(served) as Replay | undefined;
    if (!replay) return;
    served = replay.owner;
    const again = replay.state === null ? events : deliveries;
    const ids = isDeleted.get(replay.webhook) ? [] : again(replay, now, limit);
    const last = latest(ids);
    if (last === undefined || ids.length < limit) end.run(replay.id);
    else goOn.run(behind(last), replay.id);
    if (ids.length > 0) outbox.hasWork(replay.webhook, now);
  };
}

/** Lower with each restart, so that an attempt under way does not take the new schedule for its own. */
const ANEW = 'min(step, 0) - 1';

/** Returns the ids of the events in a slice. */
type Again = (replay: Replay, now: number, limit: number) => readonly unknown[];

/** Every event, including those that the webhook has no delivery for. */
function eventsAgain(db: DatabaseSync): Again {
  const walk = eventWalk(db);
  const visibleTo = ownersVisibleTo(db);
  // A delivery in flight is not sent twice: it keeps its generation, and its schedule restarts if the attempt fails.
  const upsert = db.prepare(`INSERT INTO deliveries
    (webhook, event, owner, state, attempts, step, due, generation)
    VALUES (?, ?, ?, 'pending', 0, 0, ?, 0)
    ON CONFLICT (webhook, event) DO UPDATE
    SET state = 'pending', step = ${ANEW}, due = excluded.due, suspicions = 0`);
  return ({ webhook, owner: viewer, next, through }, now, limit) => {
    const events = walk(visibleTo(viewer), next, through, limit);
    for (const { id, owner } of events) upsert.run(webhook, String(id), Number(owner), now);
    return events.map(({ id }) => id);
  };
}

function deliveriesAgain(db: DatabaseSync): Again {
  const update = db.prepare(`UPDATE deliveries
    SET state = 'pending', step = ${ANEW}, due = ?1, suspicions = 0
    WHERE webhook = ?2 AND event IN (
      SELECT event
      FROM deliveries
      WHERE webhook = ?2 AND state = ?3 AND event >= ?4 AND event <= ?5
      ORDER BY event
      LIMIT CAST(?6 AS INTEGER)
    )
    RETURNING event`);
  return ({ webhook, state, next, through }, now, limit) =>
    update.all(now, webhook, state, next, through, limit).map(({ event }) => event);
}
