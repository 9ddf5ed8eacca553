import type { Activity, ActivityQuery } from '../../../webhooks/port.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { Database } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';
import { unplanned } from './delivery-states.ts';

/** $1 the owners, $2 the start, $3 the end (exclusive), $4 the most rows of each owner. */
const EVENTS = statement`SELECT count(*) AS seen, count(*) FILTER (WHERE e.type = 'plant.created') AS plants
  FROM unnest($1::int8[]) AS o (id)
  CROSS JOIN LATERAL (
    SELECT type
    FROM events
    WHERE owner = o.id AND id >= $2 AND id < $3
    ORDER BY id
    LIMIT ${unplanned('$4')}
  ) e`;

/** $1 the subscriber; the others as above, for each webhook. */
const DELIVERIES = statement`SELECT count(*) AS seen,
    count(*) FILTER (WHERE d.state = 'delivered') AS delivered,
    count(*) FILTER (WHERE d.state = 'failed') AS failed,
    count(*) FILTER (WHERE d.state = 'pending') AS waiting
  FROM webhooks w
  CROSS JOIN LATERAL (
    SELECT state
    FROM deliveries
    WHERE subscriber = $1 AND webhook = w.id AND event >= $2 AND event < $3
    ORDER BY event
    LIMIT ${unplanned('$4')}
  ) d
  WHERE w.owner = $1 AND w.status <> 'deleted'`;

/** What happened between two events (`DeliveryStore.activity`), counted by the server in parts. */
export function activityReads({ read }: Pick<Database, 'read'>, visible: VisibleOwners) {
  return {
    async activity({ viewer, from, before, most }: ActivityQuery): Promise<Activity | undefined> {
      const bound = most + 1;
      const [[events], [deliveries]] = await Promise.all([
        read(EVENTS, [await visible.of(viewer), from, before, bound]),
        read(DELIVERIES, [viewer, from, before, bound]),
      ]);
      if (Number(events?.seen) + Number(deliveries?.seen) > most) return undefined;
      return {
        plants: Number(events?.plants),
        delivered: Number(deliveries?.delivered),
        failed: Number(deliveries?.failed),
        waiting: Number(deliveries?.waiting),
      };
    },
  };
}
