import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { feeds as limits } from '../../../limits.ts';
import type { Activity, ActivityQuery, ReplayRequest, WebhookHealth } from '../../../webhooks/port.ts';
import { countIn, END, parts } from '../../event-ids.ts';
import { absentState, FEED_TYPES, storedState } from '../../rows.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { Snapshot } from '../engine/snapshot.ts';

export function deliveryCounts(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const ofState = db.prepare(`SELECT count(*) AS count, count(*) AS seen, max(event) AS last
    FROM (
      SELECT event
      FROM deliveries
      WHERE webhook = ? AND state = ? AND event >= ?
      ORDER BY event
      LIMIT ${limits.counted}
    )`);
  const oldest = db.prepare(`SELECT e.created_at AS at
    FROM deliveries d INDEXED BY deliveries_by_state
    JOIN events e ON e.owner = d.owner AND e.id = d.event
    WHERE d.webhook = ? AND d.state = 'pending'
    ORDER BY d.event
    LIMIT 1`);
  const eventsBetween = db.prepare(`SELECT count(*) AS seen, max(id) AS last,
      count(*) FILTER (WHERE type = 'plant.created') AS plants,
      count(*) FILTER (WHERE type IN (${FEED_TYPES})) AS count
    FROM (
      SELECT id, type
      FROM events
      WHERE owner = ? AND id >= ? AND id < ?
      ORDER BY id
      LIMIT ${limits.counted}
    )`);
  const isDisabled = disabledWebhooks(db);
  const countState = (webhook: string, state: string, first: string) =>
    countIn([(from) => snapshot.read(() => ofState.get(webhook, state, from))], first);

  return {
    async health(webhook: string): Promise<WebhookHealth> {
      const at = snapshot.read(() => oldest.get(webhook)?.at);
      return {
        waiting: await countState(webhook, 'pending', ''),
        failed: await countState(webhook, 'failed', ''),
        oldestWaitingAt: at === undefined ? undefined : Number(at),
      };
    },
    async countReplay({ owner, webhook, from, state }: ReplayRequest): Promise<number> {
      if (state !== undefined) {
        const isAbsent = state === absentState(snapshot.read(() => isDisabled(webhook)));
        return isAbsent ? 0 : countState(webhook, storedState(state), from);
      }
      const ranges = visible
        .of(owner)
        .map((of) => (next: string) => snapshot.read(() => eventsBetween.get(of, next, END)));
      return countIn(ranges, from);
    },
    activity: activityRead(db, snapshot, visible, eventsBetween),
  };
}

export function disabledWebhooks(db: DatabaseSync): (webhook: string) => boolean {
  const query = db.prepare(`SELECT 1 FROM webhooks WHERE id = ? AND status = 'disabled'`);
  return (webhook) => query.get(webhook) !== undefined;
}

function activityRead(
  db: DatabaseSync,
  snapshot: Snapshot,
  visible: VisibleOwners,
  eventsBetween: StatementSync,
) {
  const deliveriesBetween = db.prepare(`SELECT count(*) AS seen, max(event) AS last,
      count(*) FILTER (WHERE state = 'delivered') AS delivered,
      count(*) FILTER (WHERE state = 'failed') AS failed,
      count(*) FILTER (WHERE state = 'pending') AS waiting
    FROM (
      SELECT event, state
      FROM deliveries
      WHERE webhook = ? AND event >= ? AND event < ?
      ORDER BY event
      LIMIT ${limits.counted}
    )`);
  const webhooksOf = db.prepare(`SELECT id FROM webhooks WHERE owner = ? AND status <> 'deleted'`);

  return async ({ viewer, from, before, most }: ActivityQuery): Promise<Activity | undefined> => {
    const total: Activity = { plants: 0, delivered: 0, failed: 0, waiting: 0 };
    const webhooks = snapshot.read(() => webhooksOf.all(viewer).map(({ id }) => String(id)));
    const ranges = [
      ...visible.of(viewer).map((owner) => (at: string) => eventsBetween.get(owner, at, before)),
      ...webhooks.map((webhook) => (at: string) => deliveriesBetween.get(webhook, at, before)),
    ].map((range) => (at: string) => snapshot.read(() => range(at)));
    let seen = 0;
    // Many empty hours would otherwise be one long turn.
    await setImmediate();
    for await (const part of parts(ranges, from)) {
      seen += Number(part.seen);
      if (seen > most) return undefined;
      total.plants += Number(part.plants ?? 0);
      total.delivered += Number(part.delivered ?? 0);
      total.failed += Number(part.failed ?? 0);
      total.waiting += Number(part.waiting ?? 0);
    }
    return total;
  };
}
