import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { feeds as limits } from '../../../limits.ts';
import type { Activity, ActivityQuery } from '../../../webhooks/port.ts';
import { parts } from '../../event-ids.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { prepare } from '../engine/prepare.ts';
import type { Snapshot } from '../engine/snapshot.ts';

export function activityReads(db: DatabaseSync, snapshot: Snapshot, visible: VisibleOwners) {
  const eventsOf = prepare(db)`SELECT count(*) AS seen, max(id) AS last,
      count(*) FILTER (WHERE type = 'plant.created') AS plants
    FROM (
      SELECT id, type
      FROM events
      WHERE owner = ? AND id >= ? AND id < ?
      ORDER BY id
      LIMIT ${limits.counted}
    )`;
  const deliveriesOf = prepare(db)`SELECT count(*) AS seen, max(event) AS last,
      count(*) FILTER (WHERE state = 'delivered') AS delivered,
      count(*) FILTER (WHERE state = 'failed') AS failed,
      count(*) FILTER (WHERE state = 'pending') AS waiting
    FROM (
      SELECT event, state
      FROM deliveries
      WHERE webhook = ? AND event >= ? AND event < ?
      ORDER BY event
      LIMIT ${limits.counted}
    )`;
  const webhooksOf = db.prepare(`SELECT id FROM webhooks WHERE owner = ? AND status <> 'deleted'`);

  return {
    async activity({ viewer, from, before, most }: ActivityQuery): Promise<Activity | undefined> {
      const total: Activity = { plants: 0, delivered: 0, failed: 0, waiting: 0 };
      const webhooks = snapshot.read(() => webhooksOf.all(viewer).map(({ id }) => String(id)));
      const ranges = [
        ...visible.of(viewer).map((owner) => (at: string) => eventsOf.get(owner, at, before)),
        ...webhooks.map((webhook) => (at: string) => deliveriesOf.get(webhook, at, before)),
      ];
      let seen = 0;
      // Many empty hours would otherwise be one long turn.
      await setImmediate();
      for (const range of ranges) {
        for await (const part of parts((at) => snapshot.read(() => range(at)), from)) {
          seen += Number(part.seen);
          if (seen > most) return undefined;
          total.plants += Number(part.plants ?? 0);
          total.delivered += Number(part.delivered ?? 0);
          total.failed += Number(part.failed ?? 0);
          total.waiting += Number(part.waiting ?? 0);
        }
      }
      return total;
    },
  };
}
