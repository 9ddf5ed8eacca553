import { feeds as limits } from '../../../limits.ts';
import type { Activity, ActivityQuery, ReplayRequest, WebhookHealth } from '../../../webhooks/port.ts';
import { countIn, END } from '../../event-ids.ts';
import { FEED_TYPES, storedState } from '../../rows.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { type Database, pathId, statement } from '../engine/database.ts';
import { disabledWith, IS_UNDELIVERED, momentOf, OF_WEBHOOK, unplanned } from './delivery-states.ts';

const COUNT_DELIVERED = statement`SELECT count(*) FILTER (WHERE state = 'delivered') AS count, count(*) AS seen, max(event) AS last
  FROM (
    SELECT d.event, d.state
    FROM deliveries d
    WHERE ${OF_WEBHOOK} AND d.event >= $2
    ORDER BY d.event
    LIMIT ${unplanned(limits.counted)}
  ) part`;

const COUNT_UNDELIVERED = statement`SELECT count(*) AS count, count(*) AS seen, max(event) AS last
  FROM (
    SELECT d.event
    FROM deliveries d
    WHERE ${OF_WEBHOOK} AND d.state = $3 AND ${momentOf('d.event')} >= ${momentOf('$2')} AND d.event >= $2
      AND ${IS_UNDELIVERED} AND ($4::boolean IS NULL OR $4 = (SELECT status = 'disabled' FROM webhooks WHERE id = $1))
    ORDER BY ${momentOf('d.event')}
    FETCH FIRST ${unplanned(limits.counted)} ROWS WITH TIES
  ) part`;

/** In one scan of their index, without their rows. */
const COUNT_BY_STATE = statement`SELECT count(*) FILTER (WHERE d.state = 'pending') AS waiting,
    count(*) FILTER (WHERE d.state = 'failed') AS failed
  FROM deliveries d
  WHERE ${OF_WEBHOOK} AND ${IS_UNDELIVERED}`;

/** Their index says in which moment it was created; the primary key has the moment's in order. */
const OLDEST = statement`SELECT oldest.at
  FROM (
    SELECT ${momentOf('d.event')} AS moment
    FROM deliveries d
    WHERE ${OF_WEBHOOK} AND d.state = 'pending'
    ORDER BY ${momentOf('d.event')}
    LIMIT 1
  ) m
  CROSS JOIN LATERAL (
    SELECT e.created_at AS at
    FROM deliveries d
    CROSS JOIN LATERAL (
      SELECT created_at
      FROM events
      WHERE owner = d.owner AND id = d.event
      LIMIT 1
    ) e
    WHERE ${OF_WEBHOOK} AND d.state = 'pending' AND d.event >= m.moment AND d.event < m.moment || '~'
    ORDER BY d.event
    LIMIT ${unplanned(1)}
  ) oldest`;

/** $1 the owners, $2 the start, $3 the end (exclusive), $4 the most rows. */
const EVENTS_BETWEEN = statement`SELECT count(*) AS seen, max(e.id) AS last,
    count(*) FILTER (WHERE e.type = 'plant.created') AS plants,
    count(*) FILTER (WHERE e.type IN (${FEED_TYPES})) AS count
  FROM (
    SELECT e.*
    FROM unnest($1::int8[]) AS o (id)
    CROSS JOIN LATERAL (
      SELECT id, type
      FROM events
      WHERE owner = o.id AND id >= $2 AND id < $3
      ORDER BY id
      LIMIT ${unplanned('$4')}
    ) e
    LIMIT ${unplanned('$4')}
  ) e`;

/** $1 the subscriber; the others as above. */
const DELIVERIES_BETWEEN = statement`SELECT count(*) AS seen,
    count(*) FILTER (WHERE d.state = 'delivered') AS delivered,
    count(*) FILTER (WHERE d.state = 'failed') AS failed,
    count(*) FILTER (WHERE d.state = 'pending') AS waiting
  FROM (
    SELECT d.state
    FROM webhooks w
    CROSS JOIN LATERAL (
      SELECT state
      FROM deliveries
      WHERE subscriber = $1 AND webhook = w.id AND event >= $2 AND event < $3
      ORDER BY event
      LIMIT ${unplanned('$4')}
    ) d
    WHERE w.owner = $1 AND w.status <> 'deleted'
    LIMIT ${unplanned('$4')}
  ) d`;

export function deliveryCounts({ read }: Pick<Database, 'read'>, visible: VisibleOwners) {
  const eventsOf = (owner: number) => async (from: string) =>
    (await read(EVENTS_BETWEEN, [[owner], from, END, limits.counted]))[0];

  return {
    async health(webhook: string): Promise<WebhookHealth> {
      const id = pathId(webhook);
      const [[counts], [oldest]] = await Promise.all([read(COUNT_BY_STATE, [id]), read(OLDEST, [id])]);
      return {
        waiting: Number(counts?.waiting),
        failed: Number(counts?.failed),
        oldestWaitingAt: oldest && Number(oldest.at),
      };
    },
    async countReplay({ owner, webhook, from, state }: ReplayRequest): Promise<number> {
      if (state === undefined) return countIn((await visible.of(owner)).map(eventsOf), from);
      const stored = storedState(state);
      const [part, more] =
        stored === 'delivered'
          ? [COUNT_DELIVERED, []]
          : [COUNT_UNDELIVERED, [stored, disabledWith(state) ?? null]];
      return countIn([async (next) => (await read(part, [pathId(webhook), next, ...more]))[0]], from);
    },
    async activity({ viewer, from, before, most }: ActivityQuery): Promise<Activity | undefined> {
      const bound = most + 1;
      const [[events], [deliveries]] = await Promise.all([
        read(EVENTS_BETWEEN, [await visible.of(viewer), from, before, bound]),
        read(DELIVERIES_BETWEEN, [viewer, from, before, bound]),
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
