import type { ExpiryPosition, ExpiryRequest } from '../../../webhooks/port.ts';
import { FEED_TYPES } from '../../rows.ts';
import { type Query, type Row, statement } from '../engine/database.ts';

/** Removes expired events and their deliveries (`ChoreStore.removeExpired`). */
export async function expirySlice(
  { before, from, limit }: ExpiryRequest,
  query: Query,
): Promise<ExpiryPosition | undefined> {
  let at = from ?? { owner: 0, event: '' };
  for (let left = limit; left > 0; ) {
    const [row] = await query(NEXT_OWNER, [at.owner, at.event, before, left]);
    if (row?.found == null) {
      if (Number(row?.looked) < left) return undefined;
      // After all events of the last owner.
      return { owner: Number(row?.last), event: before };
    }
    left -= 1;
    const owner = Number(row.found);
    const event = owner === at.owner ? at.event : '';
    const { rows, position } = await expireOf({ owner, event }, { before, limit: Math.max(1, left) }, query);
    left -= rows;
    at = position;
  }
  return at;
}

async function expireOf(
  { owner, event }: ExpiryPosition,
  { before, limit }: { before: string; limit: number },
  query: Query,
): Promise<{ rows: number; position: ExpiryPosition }> {
  const subscribers = await query(SUBSCRIBERS, [owner]);
  // An event and, for each webhook, a delivery and usually one attempt.
  const rows = 1 + 2 * subscribers.length;
  const found = await query(OLD, [owner, event, before, Math.ceil(limit / rows)]);
  const events = found.map(({ id }) => String(id));
  await removeEvents(owner, subscribers, events, query);
  return { rows: Math.max(1, rows * events.length), position: { owner, event: events.at(-1) ?? before } };
}

/** Locks deliveries first, so that none of a removed event becomes pending again meanwhile. */
async function removeEvents(
  owner: number,
  subscribers: readonly Row[],
  events: readonly string[],
  query: Query,
): Promise<void> {
  const waiting =
    subscribers.length > 0 ? await query(LOCK_WAITING, [JSON.stringify(subscribers), events]) : [];
  const kept = new Set(waiting.map(({ event }) => event));
  const old = events.filter((event) => !kept.has(event));
  if (old.length === 0) return;
  if (subscribers.length > 0) await removeDeliveries(subscribers, old, query);
  await query(REMOVE_EVENTS, [owner, old]);
}

/**
 * @param lanes rows with `subscriber` and `webhook`
 * @param events ascending
 */
export async function removeDeliveries(
  lanes: readonly Row[],
  events: readonly string[],
  query: Query,
): Promise<void> {
  const values = [lanes.map(({ subscriber }) => subscriber), lanes.map(({ webhook }) => webhook), events];
  // Attempts after the deliveries are locked, so that this sees those recorded meanwhile.
  for (const removal of REMOVALS) await query(removal, values);
}

/** $1 and $2 a position, $3 the first event that has not expired, $4 how many owners to check. */
const NEXT_OWNER = statement`WITH looked AS MATERIALIZED (
    SELECT id
    FROM users
    WHERE id >= $1
    ORDER BY id
    LIMIT $4
  )
  SELECT count(*) AS looked, max(l.id) AS last, (
    SELECT f.id
    FROM looked f
    CROSS JOIN LATERAL (
      SELECT 1
      FROM events e
      WHERE e.owner = f.id AND e.id > CASE WHEN f.id = $1 THEN $2::text ELSE '' END AND e.id < $3
      LIMIT 1
    ) e
    ORDER BY f.id
    LIMIT 1
  ) AS found
  FROM looked l`;

/** In the order in which outcomes lock their deliveries. */
const SUBSCRIBERS = statement`SELECT owner AS subscriber, id AS webhook, status
  FROM webhooks
  WHERE owner = $1
  UNION ALL
  SELECT w.owner, w.id, w.status
  FROM shares s
  JOIN webhooks w ON w.owner = s.viewer
  WHERE s.owner = $1
  ORDER BY webhook`;

const OLD = statement`SELECT id
  FROM events
  WHERE owner = $1 AND id > $2 AND id < $3
  ORDER BY id
  LIMIT $4`;

const LOCK_WAITING = statement`WITH locked AS MATERIALIZED (
    SELECT l.status, d.event, d.state
    FROM json_to_recordset($1) AS l(subscriber int8, webhook text, status text)
    CROSS JOIN LATERAL (
      SELECT event, state
      FROM deliveries
      WHERE subscriber = l.subscriber AND webhook = l.webhook AND event = ANY ($2::text[])
      ORDER BY event
      FOR UPDATE
    ) d
  )
  SELECT event
  FROM locked
  WHERE state = 'pending' AND status <> 'deleted'`;

/**
 * Of arrays the server knows the lengths: of JSON it expects 100 rows, and would rather read the whole table. Servers
 * before 17 look up a webhook that they expect few rows of, and read all it has: hence the range.
 */
const REMOVALS = ['deliveries', 'attempts'].map(
  (table) => statement`DELETE FROM ${table} t
  USING unnest($1::int8[], $2::text[]) AS l(subscriber, webhook)
  WHERE t.subscriber = l.subscriber AND t.webhook = l.webhook AND t.event = ANY ($3::text[])
    AND t.event BETWEEN ($3::text[])[1] AND ($3::text[])[cardinality($3::text[])]`,
);

/** Notes the last removed event of the feed: earlier cursors are no longer accepted. */
const REMOVE_EVENTS = statement`WITH removed AS (
    DELETE FROM events
    WHERE owner = $1 AND id = ANY ($2::text[])
    RETURNING tx, id, type
  )
  INSERT INTO removed_events AS r (owner, tx, event)
  SELECT $1, tx, id
  FROM removed
  WHERE type IN (${FEED_TYPES})
  ORDER BY tx DESC, id DESC
  LIMIT 1
  ON CONFLICT (owner) DO UPDATE
  SET tx = excluded.tx, event = excluded.event
  WHERE (excluded.tx, excluded.event) > (r.tx, r.event)`;
