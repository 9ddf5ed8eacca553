import { feeds, lanes as leases } from '../../../limits.ts';
import type { LaneRequest, LaneStore, Work } from '../../../webhooks/delivery/port.ts';
import { END } from '../../event-ids.ts';
import { KNOWN_TYPES, readLane, toRecord } from '../../rows.ts';
import { IS_VISIBLE } from '../access/shares.ts';
import { type Database, type Row, statement } from '../engine/database.ts';
import { DATABASE_NOW } from '../replicas/database-clock.ts';
import { FIRST_DUE, momentOf, OF_WEBHOOK } from './delivery-states.ts';

/** The reads of a lane's owner. */
export function laneReads({ read, write }: Pick<Database, 'read' | 'write'>) {
  async function look({ webhook, now, after, limit, askedLimit }: LaneRequest) {
    const { due = -1, event = '' } = after ?? {};
    const [row] = await read(READ, [webhook, now, due, event, limit, askedLimit]);
    if (!row) return undefined;
    const {
      secrets,
      asked,
      due: dueRows,
      next_due: nextDue,
      last_due: lastDue,
      last_moment,
      ...settings
    } = row;
    // The statement builds arrays of this form, or null.
    const live = (secrets as string[] | null) ?? [];
    const rows = (column: unknown) => (column as Row[] | null) ?? [];
    const found = rows(dueRows);
    const isPart = lastDue !== null && found.length < limit;
    const through = isPart ? { due: Number(lastDue), event: `${last_moment}${END}` } : undefined;
    return { settings, secrets: live, asked: rows(asked), due: found, through, nextDue };
  }

  return {
    /** @param replica the replica whose lanes are searched, with those that nobody owns */
    findWork: async (replica: string, after: string | undefined, limit: number): Promise<Work[]> =>
      (await read(FIND_WORK, [replica, after ?? '', limit, leases.foundAheadMs])).map(toRecord<Work>),
    read: (request: LaneRequest) =>
      readLane(
        () => look(request),
        (events) => write([{ statement: GIVE_UP, values: [request.webhook, events] }]),
      ),
    suspect: async (...of: Parameters<LaneStore['suspect']>): Promise<void> => {
      await write([{ statement: SUSPECT, values: of }]);
    },
  };
}

/**
 * SQL for whether replica `r` is alive. A lease longer than possible was renewed by the clock of another server, the
 * previous primary: the replica soon renews it, or is gone.
 */
export const IS_ALIVE = `r.alive_until > ${DATABASE_NOW} AND r.alive_until <= ${DATABASE_NOW} + ${leases.leaseMs}`;

/** A part of a WITH, for `IS_FREE`: the live replicas other than `self`. */
export const othersThan = (self: string) => `others AS MATERIALIZED (
    SELECT r.id
    FROM replicas r
    WHERE r.id <> ${self} AND ${IS_ALIVE}
  )`;

/** Whether none of them owns the lane `l`. */
export const IS_FREE = '(l.replica IN (SELECT id FROM others)) IS NOT TRUE';

/** One lookup per enabled webhook. Skips deliveries due later than in $4 milliseconds, and lanes of live replicas. */
export const FIND_WORK = statement`WITH ${othersThan('$1')}
  SELECT w.id AS webhook, d.due, EXISTS (
      SELECT 1
      FROM deliveries
      WHERE subscriber = w.owner AND webhook = w.id AND asked AND state = 'pending'
    ) AS is_asked
  FROM webhooks w
  LEFT JOIN lanes l ON l.webhook = w.id
  CROSS JOIN LATERAL ${FIRST_DUE} d
  WHERE w.id > $2 AND w.status = 'enabled' AND d.due <= (SELECT ${DATABASE_NOW} + $4::int8)
    AND ${IS_FREE}
  ORDER BY w.id
  LIMIT $3`;

/** In order of due time. Leaves out event types that only a newer version knows, for that version to handle. */
const deliveriesOf = (isMeant: string, limit: string) => `(
      SELECT json_agg(to_json(d) ORDER BY d.due, d.event)
      FROM (
        SELECT *
        FROM (
          SELECT d.event, d.due, d.step, d.fence AS generation, d.suspicions, e.*
          FROM deliveries d
          LEFT JOIN LATERAL (
            SELECT id, type, created_at, plant::text AS plant, name, tag, trace
            FROM events
            WHERE owner = d.owner AND id = d.event
            LIMIT 1
          ) e ON true
          WHERE d.subscriber = w.owner AND d.webhook = w.id AND d.state = 'pending' AND ${isMeant}
            AND ${IS_VISIBLE} AND (e.type IS NULL OR e.type IN (${KNOWN_TYPES}))
          ORDER BY d.due, ${momentOf('d.event')}
          FETCH FIRST ${limit} ROWS WITH TIES
        ) d
        ORDER BY d.due, d.event
        LIMIT ${limit}
      ) d
    )`;

/** After the position $3, $4. The first condition is for the index, when many share a due time. */
const IS_BEHIND = `(d.due, ${momentOf('d.event')}) >= ($3, ${momentOf('$4')}) AND (d.due, d.event) > ($3, $4)`;

/** How far a read goes at most: it would pass over all deliveries of removed shares, until they are dropped. */
const FARTHEST = `SELECT last.*
    FROM (
      SELECT 1
      FROM withdrawals
      WHERE webhook = w.id
      LIMIT 1
    ) one
    CROSS JOIN LATERAL (
      SELECT d.due, ${momentOf('d.event')} AS moment
      FROM deliveries d
      WHERE d.subscriber = w.owner AND d.webhook = w.id AND d.state = 'pending' AND d.due <= $2 AND ${IS_BEHIND}
      ORDER BY d.due, ${momentOf('d.event')}
      OFFSET ${feeds.walked}
      LIMIT 1
    ) last`;

/** Up to there: `f` is the row of `FARTHEST`. */
const IS_WITHIN = `(d.due, ${momentOf('d.event')}) <= (coalesce(f.due, $2), coalesce(f.moment, '${END}'))`;

/**
 * $1 the webhook, $2 now, $3 and $4 the position, $5 how many, $6 how many manual ones, due or not: a concurrent replay
 * may have changed their time just now. Due ones are also among the others.
 */
const READ = statement`SELECT w.owner, w.url, w.rate, w.paused_until, w.failing_since, w.generation, w.private_key, (
    SELECT json_agg(s.secret ORDER BY s.created_at DESC)
    FROM webhook_secrets s
    WHERE s.webhook = w.id AND (s.expires_at IS NULL OR s.expires_at > $2)
  ) AS secrets,
  ${deliveriesOf('d.asked', '$6')} AS asked,
  ${deliveriesOf(`${IS_BEHIND} AND ${IS_WITHIN}`, '$5')} AS due, (
    SELECT d.due
    FROM deliveries d
    WHERE d.subscriber = w.owner AND d.webhook = w.id AND d.state = 'pending' AND d.due > $2
    ORDER BY d.due
    LIMIT 1
  ) AS next_due, f.due AS last_due, f.moment AS last_moment
  FROM webhooks w
  LEFT JOIN LATERAL (
    ${FARTHEST}
  ) f ON true
  WHERE w.id = $1 AND w.status = 'enabled'`;

/** Happens only in a damaged store; these must not block the others. */
const GIVE_UP = statement`UPDATE deliveries d
  SET state = 'failed', leased = false, asked = false, reason = 'Its event is missing.'
  WHERE ${OF_WEBHOOK} AND event = ANY ($2::text[]) AND state = 'pending'`;

const SUSPECT = statement`UPDATE deliveries d
  SET suspicions = $4
  WHERE ${OF_WEBHOOK} AND event = $2 AND fence = $3`;
