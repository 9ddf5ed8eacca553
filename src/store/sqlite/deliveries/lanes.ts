import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LaneRequest, Work } from '../../../webhooks/delivery/port.ts';
import { KNOWN_TYPES } from '../../rows.ts';
import { IS_VISIBLE } from '../access/shares.ts';

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
  const due = deliveriesIn(db, 'deliveries_due', 'd.due <= ? AND (d.due, d.event) > (?, ?)');
  const nextDue = db.prepare(`SELECT due
    FROM deliveries INDEXED BY deliveries_due
    WHERE webhook = ? AND state = 'pending' AND due > ?
    ORDER BY due
    LIMIT 1`);
  return {
    findWork: workIn(db),
    /**
     * For `readLane`. Consistent only within a transaction.
     * @param time by the clock that ends secrets, which may have been set back
     */
    read({ webhook, now, after, limit, askedLimit }: LaneRequest, time: number) {
      const row = enabled.get(webhook);
      const begin = after ?? { due: -1, event: '' };
      return (
        row && {
          settings: row,
          secrets: secrets.all(webhook, time).map(({ secret }) => String(secret)),
          asked: asked.all(webhook, askedLimit),
          due: limit > 0 ? due.all(webhook, now, begin.due, begin.event, limit) : [],
          nextDue: nextDue.get(webhook, now)?.due ?? null,
        }
      );
    },
  };
}

/** Goes from lane to lane, so that lanes without pending deliveries cost nothing. */
function workIn(db: DatabaseSync): (after: string | undefined, limit: number) => Work[] {
  const next = db.prepare(`SELECT webhook, due
    FROM deliveries INDEXED BY deliveries_due
    WHERE state = 'pending' AND webhook > ?
    ORDER BY webhook, due
    LIMIT 1`);
  const isEnabled = db.prepare(`SELECT 1 FROM webhooks WHERE id = ? AND status = 'enabled'`);
  return (after = '', limit) => {
    const work: Work[] = [];
    for (let row = next.get(after); row && work.length < limit; row = next.get(String(row.webhook))) {
      const webhook = String(row.webhook);
      if (isEnabled.get(webhook)) work.push({ webhook, due: Number(row.due) });
    }
    return work;
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
