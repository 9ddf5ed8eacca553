import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { delivery, feeds } from '../../../limits.ts';
import type { LaneRequest, Work } from '../../../webhooks/delivery/port.ts';
import { END } from '../../event-ids.ts';
import { KNOWN_TYPES } from '../../rows.ts';
import { IS_VISIBLE } from '../access/shares.ts';
import type { Snapshot } from '../engine/snapshot.ts';

/** Reads lanes through a connection that does nothing else meanwhile. */
export function laneReads(db: DatabaseSync) {
  const enabled = db.prepare(`SELECT owner, url, rate, paused_until, failing_since, private_key, generation
    FROM webhooks
    WHERE id = ? AND status = 'enabled'`);
  const secrets = db.prepare(`SELECT secret
    FROM webhook_secrets
    WHERE webhook = ? AND (expires_at IS NULL OR expires_at > ?)
    ORDER BY created_at DESC`);
  // Manual deliveries, due or not: a concurrent replay may just have changed their time. Due ones are in `due`, too.
  const asked = deliveriesIn(db, 'deliveries_asked', 'd.asked = 1');
  const due = deliveriesIn(db, 'deliveries_due', '(d.due, d.event) > (?, ?) AND (d.due, d.event) <= (?, ?)');
  const hasHidden = db.prepare('SELECT 1 FROM withdrawals WHERE webhook = ? LIMIT 1');
  const farthest = db.prepare(`SELECT due, event
    FROM deliveries INDEXED BY deliveries_due
    WHERE webhook = ? AND state = 'pending' AND (due, event) > (?, ?) AND due <= ?
    ORDER BY due, event
    LIMIT 1 OFFSET ${feeds.walked}`);
  const nextDue = db.prepare(`SELECT due
    FROM deliveries INDEXED BY deliveries_due
    WHERE webhook = ? AND state = 'pending' AND due > ?
    ORDER BY due
    LIMIT 1`);
  return {
    findPart: workIn(db),
    /**
     * For `readLane`. Consistent only within a transaction.
     * @param time by the clock that ends secrets, which may have been set back
     */
    read({ webhook, now, after, limit, askedLimit }: LaneRequest, time: number) {
      const row = enabled.get(webhook);
      if (!row) return undefined;
      const begin = after ?? { due: -1, event: '' };
      // Deliveries of removed shares, until they are dropped, would otherwise all be passed over in one turn.
      const end =
        limit > 0 && hasHidden.get(webhook) ? farthest.get(webhook, begin.due, begin.event, now) : undefined;
      const through = end && { due: Number(end.due), event: String(end.event) };
      const last = through ?? { due: now, event: END };
      const found = limit > 0 ? due.all(webhook, begin.due, begin.event, last.due, last.event, limit) : [];
      return {
        settings: row,
        secrets: secrets.all(webhook, time).map(({ secret }) => String(secret)),
        asked: asked.all(webhook, askedLimit),
        due: found,
        through: found.length < limit ? through : undefined,
        nextDue: nextDue.get(webhook, now)?.due ?? null,
      };
    },
  };
}

/** For `findWork` of the port: in parts, each in its own turn of the event loop. */
export async function findWork(
  snapshot: Pick<Snapshot, 'read'>,
  { findPart }: Pick<ReturnType<typeof laneReads>, 'findPart'>,
  after: string | undefined,
  limit: number,
): Promise<Work[]> {
  const found: Work[] = [];
  for (let from = after; ; ) {
    const { work, last } = snapshot.read(() => findPart(from, limit - found.length));
    found.push(...work);
    if (last === undefined || found.length === limit) return found;
    from = last;
    await setImmediate();
  }
}

/**
 * Goes from lane to lane, so that lanes without pending deliveries cost nothing. A part also ends after some lanes
 * without work, such as those of disabled webhooks that hold deliveries; `last` is undefined if no lane follows.
 */
function workIn(db: DatabaseSync) {
  const next = db.prepare(`SELECT webhook, due
    FROM deliveries INDEXED BY deliveries_due
    WHERE state = 'pending' AND webhook > ?
    ORDER BY webhook, due
    LIMIT 1`);
  const isEnabled = db.prepare(`SELECT 1 FROM webhooks WHERE id = ? AND status = 'enabled'`);
  return (after: string | undefined, limit: number): { work: Work[]; last: string | undefined } => {
    const work: Work[] = [];
    let last = after ?? '';
    for (let seen = 0; seen < delivery.searchedTogether && work.length < limit; seen++) {
      const row = next.get(last);
      if (!row) return { work, last: undefined };
      last = String(row.webhook);
      if (isEnabled.get(last)) work.push({ webhook: last, due: Number(row.due) });
    }
    return { work, last };
  };
}

/** In index order. Leaves out event types that only a newer version knows, for that version to handle. */
function deliveriesIn(db: DatabaseSync, index: string, condition: string): StatementSync {
  return db.prepare(`SELECT d.event, d.due, d.step, d.generation, d.suspicions,
      e.id, e.type, e.created_at, CAST(e.plant AS TEXT) AS plant, e.name, e.tag, e.trace
    FROM deliveries d INDEXED BY ${index}
    LEFT JOIN events e ON e.owner = d.owner AND e.id = d.event
    WHERE d.webhook = ? AND d.state = 'pending' AND ${condition} AND ${IS_VISIBLE}
      AND (e.type IS NULL OR e.type IN (${KNOWN_TYPES}))
    ORDER BY d.due, d.event
    LIMIT CAST(? AS INTEGER)`);
}
