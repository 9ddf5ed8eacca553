import type { DeliveryStore, ReplayRequest } from '../../../webhooks/port.ts';
import { END, FIRST } from '../../event-ids.ts';
import { ATTEMPT_COLUMNS, absentState, KNOWN_TYPES, storedState, toAttempt, toDelivery } from '../../rows.ts';
import { IS_VISIBLE } from '../access/shares.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { type Database, pathId, type Row, statement } from '../engine/database.ts';
import type { Run, Work } from '../engine/writer.ts';
import { deliveryCounts } from './delivery-counts.ts';
import { disabledWith, IS_UNDELIVERED, momentOf, unplanned } from './delivery-states.ts';
import { FEED_TX } from './events.ts';
import { lockWebhook } from './webhooks.ts';

/** The lock keeps a webhook that is being deleted from getting an event that its removal would miss. */
const CREATE_TEST = statement`WITH hook AS MATERIALIZED (
    SELECT owner, id
    FROM webhooks
    WHERE owner = $1 AND id = $2 AND status <> 'deleted'
    FOR SHARE
  ), written AS (
    INSERT INTO events (owner, id, tx, type, plant, name, tag, created_at, trace)
    SELECT owner, $3, ${FEED_TX}, $4, $5, $6, $7, $8, $10
    FROM hook
  )
  INSERT INTO deliveries (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence, asked)
  SELECT owner, id, $3, owner, 'pending', 0, 0, $9, false, 0, true
  FROM hook
  RETURNING 1`;

const OWNS = statement`SELECT 1
  FROM webhooks
  WHERE owner = $1 AND id = $2 AND status <> 'deleted'`;

/** It is sent at once, even during an attempt: the higher generation voids the outcome of that attempt. */
const REDELIVER = statement`UPDATE deliveries
  SET state = 'pending', step = 0, due = $4, leased = false, fence = fence + 1, asked = true, suspicions = 0
  WHERE subscriber = $1 AND webhook = $2 AND event = $3
  RETURNING 1`;

const COUNT_REPLAYS = statement`SELECT count(*) AS count FROM replays WHERE webhook = $1 AND NOT hastens`;

const START_REPLAY = `INSERT INTO replays (subscriber, webhook, hastens, state, next, through)`;

const REPLAY_EVENTS = statement`${START_REPLAY}
  SELECT $1, $2, false, NULL, $3, newest.id
  FROM (
    SELECT max(e.id) AS id
    FROM (SELECT $1::int8 AS owner UNION ALL SELECT owner FROM shares WHERE viewer = $1) o
    CROSS JOIN LATERAL (
      SELECT id
      FROM events
      WHERE owner = o.owner
      ORDER BY id DESC
      LIMIT 1
    ) e
  ) newest
  WHERE newest.id IS NOT NULL`;

const REPLAY_DELIVERIES = statement`${START_REPLAY}
  SELECT subscriber, webhook, false, $4, $3, event
  FROM deliveries
  WHERE subscriber = $1 AND webhook = $2
  ORDER BY event DESC
  LIMIT 1`;

function startReplay({ owner, webhook, from, state }: ReplayRequest, most: number): Work<boolean> {
  return async (query) => {
    // The lock prevents others from starting a replay meanwhile.
    const found = await lockWebhook(query, owner, webhook);
    if (!found) return true;
    const [replays] = await query(COUNT_REPLAYS, [webhook]);
    if (Number(replays?.count) >= most) return false;
    if (state === undefined) await query(REPLAY_EVENTS, [owner, webhook, from]);
    else if (state !== absentState(found.status === 'disabled')) {
      await query(REPLAY_DELIVERIES, [owner, webhook, from, storedState(state)]);
    }
    return true;
  };
}

/** One event per delivery, from its owner's partition: without the limit the planner might read all events first. */
const EVENT = `CROSS JOIN LATERAL (
      SELECT id, type, created_at, plant::text AS plant, name, tag
      FROM events
      WHERE owner = d.owner AND id = d.event AND type IN (${KNOWN_TYPES})
      LIMIT 1
    ) e`;

/** Selects the newest deliveries of a webhook `w` of the user `$1`, from the event `from` on and before `w.before`. */
type Newest = (from: string, limit: string) => string;

const newestOf = (conditions: string) => (from: string) =>
  `SELECT d.state, d.attempts, d.due, d.leased, d.reason, e.*
    FROM deliveries d
    ${EVENT}
    WHERE d.subscriber = $1 AND d.webhook = w.webhook AND d.event < w.before AND d.event >= ${from} AND ${IS_VISIBLE}
      ${conditions}`;

/** In the state `$8`, if there is one. */
const inOrder = (conditions: string): Newest => {
  const newest = newestOf(`${conditions} AND d.state = coalesce($8, d.state)`);
  return (from, limit) => `${newest(from)}
    ORDER BY d.event DESC
    LIMIT ${unplanned(limit)}`;
};

/**
 * `$2`: the only webhook; `$3`: whether webhooks must be disabled; `$4`, `$5`: event and webhook of the position; `$6`:
 * the first event. The newest deliveries of each webhook, a page in all, say how far back the page reaches, and which
 * webhooks have more.
 */
const page = (newest: Newest) => statement`WITH heads AS MATERIALIZED (
    SELECT w.webhook, w.is_disabled, w.paused_until, w.few, d.*
    FROM (
      SELECT id AS webhook, status = 'disabled' AS is_disabled, paused_until,
        ceil($7::float8 / count(*) OVER ())::int8 AS few, CASE WHEN id < $5 THEN $4 || '0' ELSE $4 END AS before
      FROM webhooks
      WHERE owner = $1 AND status <> 'deleted' AND id = coalesce($2, id)
        AND (status = 'disabled') = coalesce($3, status = 'disabled')
    ) w
    CROSS JOIN LATERAL (${newest('$6', 'w.few')}) d
    ORDER BY d.id DESC, w.webhook DESC
    LIMIT ${unplanned('$7')}
  ), since AS MATERIALIZED (
    SELECT coalesce((SELECT id FROM heads ORDER BY id DESC LIMIT 1 OFFSET $7 - 1), $6) AS id
  )
  SELECT *
  FROM heads
  UNION ALL
  SELECT w.webhook, w.is_disabled, w.paused_until, w.few, d.*
  FROM (
    SELECT webhook, is_disabled, paused_until, few, min(id) AS before
    FROM heads
    GROUP BY webhook, is_disabled, paused_until, few
    HAVING count(*) = few AND min(id) > (SELECT id FROM since)
  ) w
  CROSS JOIN LATERAL (${newest('(SELECT id FROM since)', '$7')}) d
  ORDER BY id DESC, webhook DESC
  LIMIT ${unplanned('$7')}`;

const LIST = page(inOrder(''));
const LIST_OF_EVENTS = page(inOrder('AND d.event = ANY ($9::text[])'));

const undelivered = newestOf('AND d.state = $8');

/**
 * Their index says in which moments they were created; the primary key has each moment's in order. The moment that the
 * page before ended in may have any number, so it is not looked up.
 */
const LIST_UNDELIVERED = page(
  (from, limit) => `SELECT d.*
  FROM (
    SELECT ${momentOf('w.before')} AS moment
    WHERE w.before <> '${END}'
    UNION
    SELECT ${momentOf('id')}
    FROM (
      ${undelivered(from)} AND ${IS_UNDELIVERED}
        AND ${momentOf('d.event')} < ${momentOf('w.before')} AND ${momentOf('d.event')} >= ${momentOf(from)}
      ORDER BY ${momentOf('d.event')} DESC
      LIMIT ${unplanned(limit)}
    ) newest
  ) m
  CROSS JOIN LATERAL (
    ${undelivered(from)} AND d.event >= m.moment AND d.event < m.moment || '~'
    ORDER BY d.event DESC
    LIMIT ${unplanned(limit)}
  ) d
  ORDER BY d.id DESC
  LIMIT ${limit}`,
);

const PLANT_EVENTS = statement`SELECT e.id
  FROM unnest($1::int8[]) AS o(owner)
  CROSS JOIN LATERAL (
    SELECT id
    FROM events
    WHERE owner = o.owner AND plant = $2 AND type = 'plant.created' AND id < $3 AND id >= $4
    ORDER BY id DESC
    LIMIT ${unplanned('$5')}
  ) e
  ORDER BY e.id DESC
  LIMIT $5`;

/** In one statement: an attempt may be recorded at any moment. */
const HISTORY = statement`SELECT d.*, (
    SELECT json_agg((SELECT to_json(a) FROM (SELECT ${ATTEMPT_COLUMNS}) a) ORDER BY fence)
    FROM attempts
    WHERE subscriber = $1 AND webhook = $2 AND event = $3
  ) AS history
  FROM (SELECT 1) AS one
  LEFT JOIN (
    SELECT w.id AS webhook, w.status = 'disabled' AS is_disabled, w.paused_until, d.state, d.attempts, d.due, d.leased,
      d.reason, e.*
    FROM webhooks w
    JOIN deliveries d ON d.webhook = w.id
    ${EVENT}
    WHERE w.owner = $1 AND w.id = $2 AND w.status <> 'deleted' AND d.subscriber = $1 AND d.event = $3 AND ${IS_VISIBLE}
  ) d ON true`;

export function deliveryStore(
  database: Pick<Database, 'read'>,
  run: Run,
  visible: VisibleOwners,
): DeliveryStore {
  const { read } = database;

  return {
    async page({ owner, webhook, state, events, from, after, limit }) {
      const { event, webhook: last } = after ?? FIRST;
      // None has the id ''; without one, all are meant.
      const only = webhook === undefined ? null : (pathId(webhook) ?? '');
      const stored = state && storedState(state);
      const values = [owner, only, state && disabledWith(state), event, last, from, limit, stored];
      const list = stored === undefined || stored === 'delivered' ? LIST : LIST_UNDELIVERED;
      const rows = await (events
        ? read(LIST_OF_EVENTS, [...values, events.map(pathId)])
        : read(list, values));
      return rows.map((row) => toDelivery(row, row));
    },
    async plantEvents({ viewer, plant, from, before = END, limit }) {
      const rows = await read(PLANT_EVENTS, [await visible.of(viewer), `${plant}`, before, from, limit]);
      return rows.map(({ id }) => String(id));
    },
    async history(owner, webhook, event) {
      const [row = {}] = await read(HISTORY, [owner, pathId(webhook), pathId(event)]);
      // The statement builds an array of rows, or null.
      const attempts = (row.history as Row[] | null) ?? [];
      return { delivery: row.id ? toDelivery(row, row) : undefined, attempts: attempts.map(toAttempt) };
    },
    createTest: ({ owner, webhook, event: { id, type, at, plant }, due, trace }, caller) =>
      run(async (query, announced) => {
        const of = [owner, pathId(webhook), id, type, `${plant.id}`, plant.name, plant.tag];
        if ((await query(CREATE_TEST, [...of, at, due, trace])).length === 0) return false;
        announced.lanes.push({ webhook, due, isAsked: true });
        return true;
      }, caller),
    redeliver: ({ owner, webhook, event, at }, caller) =>
      run(async (query, announced) => {
        if ((await query(OWNS, [owner, pathId(webhook)])).length === 0) return 'no webhook';
        const found = await query(REDELIVER, [owner, webhook, pathId(event), at]);
        if (found.length === 0) return 'no delivery';
        announced.lanes.push({ webhook, due: at, isAsked: true });
        return 'redelivered';
      }, caller),
    startReplay: (request, most, caller) => run(startReplay(request, most), caller),
    ...deliveryCounts(database, visible),
  };
}
