import type { DatabaseSync } from 'node:sqlite';
import type { ExpiryPosition, ExpiryRequest } from '../../../webhooks/port.ts';
import { FEED_TYPES } from '../../rows.ts';

/** Removes expired events and their deliveries. */
export function expiries(db: DatabaseSync): (request: ExpiryRequest) => ExpiryPosition | undefined {
  const owners = db.prepare('SELECT min(id) AS id FROM users WHERE id > ?');
  const old = db.prepare(`SELECT id
    FROM events
    WHERE owner = ? AND id > ? AND id < ?
    ORDER BY id
    LIMIT CAST(? AS INTEGER)`);
  const webhooksOf = db.prepare(`SELECT id
    FROM webhooks
    WHERE owner = ?1
    UNION ALL
    SELECT w.id
    FROM shares s
    JOIN webhooks w ON w.owner = s.viewer
    WHERE s.owner = ?1`);
  const remove = removalOfEvents(db);

  return ({ before, from, limit }) => {
    let owner = from?.owner ?? 0;
    let last = from?.event ?? '';
    for (let left = limit; left > 0; ) {
      const webhooks = webhooksOf.all(owner).map(({ id }) => String(id));
      // An event and, for each webhook, a delivery and usually one attempt.
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

function removalOfEvents(db: DatabaseSync) {
  const waits = db.prepare(`SELECT 1
    FROM deliveries
    WHERE webhook = ?1 AND event = ?2 AND state = 'pending'
      AND (SELECT status FROM webhooks WHERE id = ?1) <> 'deleted'`);
  const removeDelivery = db.prepare('DELETE FROM deliveries WHERE webhook = ? AND event = ?');
  const removeEvent = db.prepare(
    `DELETE FROM events WHERE owner = ? AND id = ? RETURNING type IN (${FEED_TYPES}) AS in_feed`,
  );
  const note = db.prepare(`INSERT INTO removed_events (owner, event)
    VALUES (?, ?)
    ON CONFLICT (owner) DO UPDATE
    SET event = max(event, excluded.event)`);

  return (owner: number, webhooks: string[], events: string[]): void => {
    for (const event of events) {
      if (webhooks.some((webhook) => waits.get(webhook, event))) continue;
      for (const webhook of webhooks) removeDelivery.run(webhook, event);
      if (removeEvent.get(owner, event)?.in_feed) note.run(owner, event);
    }
  };
}
