import { behind } from '../../event-ids.ts';
import { FEED_TYPES } from '../../rows.ts';
import { type Query, type Row, type Statement, statement } from '../engine/database.ts';
import type { Announced } from '../replicas/hints.ts';
import { momentOf } from './delivery-states.ts';

type Slice = { count: number; last: string | undefined };

/** The size of a slice, and the new due time. */
export type SliceBounds = { now: number; limit: number };

/** Advances the replay whose turn it is: users take turns, since one may have a thousand replays. */
export function replaySlices() {
  let served: unknown = 0;
  return async (bounds: SliceBounds, query: Query, announced: Announced): Promise<boolean> => {
    const [row] = await query(FIRST, [served]);
    if (!row) return false;
    const { id, webhook } = row;
    served = row.subscriber;
    const slice = await sliceOf(row, bounds, query);
    if (slice.last === undefined || slice.count < bounds.limit) await query(END, [id]);
    else await query(GO_ON, [id, behind(slice.last)]);
    if (slice.count > 0) announced.lanes.push({ webhook: String(webhook), due: bounds.now });
    return true;
  };
}

async function sliceOf(replay: Row, { now, limit }: SliceBounds, query: Query): Promise<Slice> {
  const { subscriber, webhook, state, status, next, through } = replay;
  if (status === 'deleted') return { count: 0, last: undefined };
  if (state !== null) {
    const values = [subscriber, webhook, next, through, limit, now];
    if (state === 'delivered') return toSlice(await query(DELIVERED_AGAIN, values));
    return toSlice(await query(UNDELIVERED_AGAIN, [...values, state]));
  }
  const owners = [subscriber, ...(await query(SHARING, [subscriber])).map(({ owner }) => owner)];
  const events = await query(WALK, [owners, next, through, limit]);
  if (events.length > 0) await query(EVENTS_AGAIN, [subscriber, webhook, JSON.stringify(events), now]);
  return toSlice([{ count: events.length, last: events.at(-1)?.id }]);
}

function toSlice([row]: readonly Row[]): Slice {
  return { count: Number(row?.count), last: typeof row?.last === 'string' ? row.last : undefined };
}

// Waits until the deliveries of an earlier share are dropped: those that a replay creates would be dropped, too.
const FIRST = statement`SELECT r.id, r.subscriber, r.webhook, r.state, r.next, r.through, w.status
  FROM replays r
  JOIN webhooks w ON w.id = r.webhook
  WHERE NOT EXISTS (SELECT 1 FROM withdrawals x WHERE x.webhook = r.webhook)
  ORDER BY r.subscriber <= $1, r.subscriber, r.id
  LIMIT 1
  FOR UPDATE OF r`;

// Moves the replay to the end of its user's queue.
const GO_ON = statement`UPDATE replays SET id = DEFAULT, next = $2 WHERE id = $1`;

const END = statement`DELETE FROM replays WHERE id = $1`;

const SHARING = statement`SELECT owner FROM shares WHERE viewer = $1`;

/**
 * The plant events of some owners, in id order, from one id to another, inclusive. Only owners whose next event is
 * among the first ones can contribute.
 */
const WALK = statement`WITH heads AS MATERIALIZED (
    SELECT h.*
    FROM unnest($1::int8[]) AS o (id)
    CROSS JOIN LATERAL (
      SELECT owner, id
      FROM events
      WHERE owner = o.id AND id >= $2 AND id <= $3 AND type IN (${FEED_TYPES})
      ORDER BY id
      LIMIT 1
    ) h
    ORDER BY h.id
    LIMIT $4
  ), bound AS MATERIALIZED (
    SELECT CASE WHEN count(*) < $4 THEN $3::text ELSE max(id) END AS id
    FROM heads
  )
  SELECT e.owner, e.id
  FROM heads h
  CROSS JOIN bound b
  CROSS JOIN LATERAL (
    SELECT owner, id
    FROM events
    WHERE owner = h.owner AND id >= h.id AND id <= b.id AND type IN (${FEED_TYPES})
    ORDER BY id
    LIMIT $4
  ) e
  ORDER BY e.id
  LIMIT $4`;

/** Lower with each restart, so that an attempt under way does not take the new schedule for its own. */
const ANEW = 'least(d.step, 0) - 1';

/** Every event, including those that the webhook has no delivery for. A delivery in flight is not sent twice. */
const EVENTS_AGAIN = statement`INSERT INTO deliveries AS d (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence)
  SELECT $1, $2, e.id, e.owner, 'pending', 0, 0, $4, false, 0
  FROM json_to_recordset($3) AS e(id text, owner int8)
  ORDER BY e.id
  ON CONFLICT (subscriber, webhook, event) DO UPDATE
  SET state = 'pending', step = ${ANEW}, due = excluded.due, suspicions = 0`;

// Its index does not know the state, so it looks at some deliveries in any state.
const DELIVERED_AGAIN = deliveriesAgain({
  isMeant: `state = 'delivered'`,
  first: `event >= $3
    ORDER BY event
    LIMIT $5`,
});

const UNDELIVERED_AGAIN = deliveriesAgain({
  isMeant: `state = $7 AND state <> 'delivered'`,
  first: `state = $7 AND state <> 'delivered' AND ${momentOf('event')} >= ${momentOf('$3')} AND event >= $3
    ORDER BY ${momentOf('event')}
    FETCH FIRST $5 ROWS WITH TIES`,
});

/**
 * The deliveries in one state. One that leaves it meanwhile counts as processed. They are locked in the order of
 * `outcomes.ts`.
 */
function deliveriesAgain({ isMeant, first }: { isMeant: string; first: string }): Statement {
  return statement`WITH found AS MATERIALIZED (
      SELECT event
      FROM deliveries
      WHERE subscriber = $1 AND webhook = $2 AND event <= $4 AND ${first}
    ), locked AS MATERIALIZED (
      SELECT f.event
      FROM (SELECT event FROM found ORDER BY event) f
      CROSS JOIN LATERAL (
        SELECT 1
        FROM deliveries
        WHERE subscriber = $1 AND webhook = $2 AND event = f.event AND ${isMeant}
        FOR NO KEY UPDATE
      ) d
    ), changed AS (
      UPDATE deliveries d
      SET state = 'pending', step = ${ANEW}, due = $6, suspicions = 0
      FROM locked l
      WHERE d.subscriber = $1 AND d.webhook = $2 AND d.event = l.event
    )
    SELECT count(*) AS count, max(event) AS last
    FROM found`;
}
