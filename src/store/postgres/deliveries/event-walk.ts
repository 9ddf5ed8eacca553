import { FEED_TYPES } from '../../rows.ts';
import type { Query, Row } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';

const OWNERS = statement`SELECT owner FROM shares WHERE viewer = $1`;

/** Only owners whose next event is among the first ones can contribute. */
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

type EventWalk = { viewer: number; from: string; through: string; limit: number };

/** The plant events that a viewer may see, in id order, from one id to another, inclusive. */
export async function walkEvents(
  { viewer, from, through, limit }: EventWalk,
  query: Query,
): Promise<{ owner: number; id: string }[]> {
  const owners = [viewer, ...(await query(OWNERS, [viewer])).map(({ owner }) => Number(owner))];
  return (await query(WALK, [owners, from, through, limit])).map(toEventKey);
}

function toEventKey({ owner, id }: Row) {
  return { owner: Number(owner), id: String(id) };
}
