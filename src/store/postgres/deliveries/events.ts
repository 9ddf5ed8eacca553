import type { EventPage, EventQuery } from '../../../webhooks/port.ts';
import { BEGINNING } from '../../event-ids.ts';
import { FEED_TYPES, toEvent } from '../../rows.ts';
import { type Database, statement } from '../engine/database.ts';
import type { Unsettled } from '../replicas/news.ts';

/** SQL for the order of the feed. Not database functions: each call of one costs more than a plant. */

const OFFSET = `(SELECT value FROM meta WHERE name = 'tx_offset')`;

/** The number of this transaction, as stored with events. */
export const FEED_TX = `(SELECT pg_current_xact_id()::text::bigint + ${OFFSET})`;

/** Every transaction below this is over: their events are the feed, and none is added between them. */
const FEED_END = `(SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${OFFSET})`;

/** Every transaction that has committed is below this. */
const ASSIGNED_END = `(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${OFFSET})`;

/** The position after an event: the number of the transaction that wrote it, and its id. */
type FeedPosition = { tx: string; event: string };

const START: FeedPosition = { tx: '0', event: BEGINNING };

/**
 * Reads events in commit order. An event joins the feed when every transaction that began before its own is over
 * (`FEED_END`), so none is ever inserted before it. Looks up the shares with them, and not in the cache of visible
 * owners: a position past the first events of a share that this replica has not heard of would skip them for good.
 */
export function eventReads({ read }: Pick<Database, 'read'>) {
  return {
    async events({ viewer, after, limit }: EventQuery): Promise<EventPage | undefined> {
      const from = after === undefined ? undefined : parsePosition(after);
      const rows = await read(FEED, [viewer, from?.tx, from?.event, limit]);
      const [first] = rows;
      const beginning = first ? toPosition(first.beginning_tx, first.beginning_event) : START;
      if (from && isBefore(from, beginning)) return undefined;
      const events = rows
        .filter(({ id }) => id !== null)
        .map((row) => ({ ...toEvent(row), position: formatPosition(toPosition(row.tx, row.id)) }));
      return { events, next: events.at(-1)?.position ?? after ?? formatPosition(beginning) };
    },
    async latestPosition(viewer: number): Promise<string> {
      const [row] = await read(LATEST, [viewer]);
      return formatPosition(row ? toPosition(row.tx, row.event) : START);
    },
    /** The end of the feed stays while the same transaction blocks it. */
    async unsettled(owners: readonly number[]): Promise<Unsettled | undefined> {
      const [row] = await read(UNSETTLED, [owners]);
      return row && { end: BigInt(String(row.feed_end)), goal: BigInt(String(row.goal)) };
    },
  };
}

/** A position without a number comes from a copied embedded store, all of which precedes the rest. */
function parsePosition(position: string): FeedPosition {
  const [, tx, event] = /^(\d{1,18})_(\w*)$/.exec(position) ?? [];
  return tx === undefined || event === undefined ? { tx: '0', event: position } : { tx, event };
}

function formatPosition({ tx, event }: FeedPosition): string {
  return `${tx}_${event}`;
}

function toPosition(tx: unknown, event: unknown): FeedPosition {
  return { tx: String(tx), event: String(event) };
}

function isBefore(one: FeedPosition, other: FeedPosition): boolean {
  return one.tx === other.tx ? one.event < other.event : BigInt(one.tx) < BigInt(other.tx);
}

/** A part of a WITH: the viewer `$1` and those who share with them. */
const OWNERS = `owners AS MATERIALIZED (
    SELECT $1::int8 AS id
    UNION ALL
    SELECT owner
    FROM shares
    WHERE viewer = $1
  )`;

/**
 * After the newest removed event: older ones that still wait are not part of the feed. For a viewer, only removals
 * since the share count.
 */
const BEGIN = `SELECT r.tx, r.event
      FROM owners o
      JOIN removed_events r ON r.owner = o.id
      LEFT JOIN shares s ON s.owner = o.id AND s.viewer = $1
      WHERE s.removed_event IS NULL OR (s.removed_tx, s.removed_event) <> (r.tx, r.event)
      ORDER BY r.tx DESC, r.event DESC
      LIMIT 1`;

/**
 * $2 and $3 the position to start after, null for the beginning; $4 how many. Of several owners, only those whose next
 * event is among the first can contribute.
 */
const FEED = statement`WITH ${OWNERS}, beginning AS MATERIALIZED (
    ${BEGIN}
  ), start AS MATERIALIZED (
    SELECT coalesce($2::int8, (SELECT tx FROM beginning), 0) AS tx,
      coalesce($3::text, (SELECT event FROM beginning), '${BEGINNING}') COLLATE "C" AS event,
      ${FEED_END} AS feed_end
  ), heads AS MATERIALIZED (
    SELECT h.*
    FROM owners o
    CROSS JOIN start s
    CROSS JOIN LATERAL (
      SELECT owner, tx, id
      FROM events
      WHERE owner = o.id AND type IN (${FEED_TYPES}) AND (tx, id) > (s.tx, s.event) AND tx < s.feed_end
      ORDER BY tx, id
      LIMIT 1
    ) h
    ORDER BY h.tx, h.id
    LIMIT $4
  ), bound AS MATERIALIZED (
    SELECT CASE WHEN count(*) < $4 THEN 9223372036854775807 ELSE max(tx) END AS tx
    FROM heads
  ), feed AS MATERIALIZED (
    SELECT e.*
    FROM heads h
    CROSS JOIN start s
    CROSS JOIN bound b
    CROSS JOIN LATERAL (
      SELECT tx, id, type, created_at, plant::text AS plant, name, tag
      FROM events
      WHERE owner = h.owner AND type IN (${FEED_TYPES}) AND (tx, id) >= (h.tx, h.id) AND tx < s.feed_end
        AND tx <= b.tx
      ORDER BY tx, id
      LIMIT $4
    ) e
    ORDER BY e.tx, e.id
    LIMIT $4
  )
  SELECT coalesce(b.tx, 0)::text AS beginning_tx, coalesce(b.event, '${BEGINNING}') AS beginning_event,
    f.tx::text AS tx, f.id, f.type, f.created_at, f.plant, f.name, f.tag
  FROM (SELECT 1) AS one
  LEFT JOIN beginning b ON true
  LEFT JOIN feed f ON true
  ORDER BY f.tx, f.id`;

const LATEST = statement`WITH ${OWNERS}
  SELECT tx::text AS tx, event
  FROM (
    (${BEGIN})
    UNION ALL
    SELECT e.tx, e.id
    FROM owners o
    CROSS JOIN LATERAL (
      SELECT tx, id
      FROM events
      WHERE owner = o.id AND type IN (${FEED_TYPES}) AND tx < ${FEED_END}
      ORDER BY tx DESC, id DESC
      LIMIT 1
    ) e
  ) positions (tx, event)
  ORDER BY positions.tx DESC, positions.event DESC
  LIMIT 1`;

/** One lookup for each user with new events. */
export const UNSETTLED = statement`SELECT ${FEED_END}::text AS feed_end, ${ASSIGNED_END}::text AS goal
  FROM unnest($1::int8[]) AS o (id)
  WHERE EXISTS (
    SELECT 1
    FROM events e
    WHERE e.owner = o.id AND e.type IN (${FEED_TYPES}) AND e.tx >= ${FEED_END}
  )
  LIMIT 1`;
