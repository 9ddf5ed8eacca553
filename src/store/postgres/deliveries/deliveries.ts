import type {
  AttemptRecord,
  Delivery,
  DeliveryQuery,
  NewTest,
  RedeliverRequest,
  ReplayRequest,
} from '../../../webhooks/port.ts';
import { absentState, storedState } from '../../delivery-states.ts';
import { END } from '../../event-ids.ts';
import { KNOWN_TYPES, toAttempt, toDelivery } from '../../rows.ts';
import { IS_VISIBLE } from '../access/shares.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { Database, Row } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';
import type { Work } from '../engine/writer.ts';
import { pathId } from '../plants/path-ids.ts';
import { activityReads } from './activity.ts';
import { deliveryCounts } from './delivery-counts.ts';
import {
  disabledWith,
  IS_DISABLED,
  IS_UNDELIVERED,
  momentOf,
  OF_WEBHOOK,
  unplanned,
} from './delivery-states.ts';
import { FEED_TX } from './feed.ts';
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

/** Writes an event for one webhook. False if the owner has no such webhook. */
export function createTest({ owner, webhook, event, due, trace }: NewTest): Work<boolean> {
  const { id, type, at, plant } = event;
  return async (query, announced) => {
    const values = [owner, pathId(webhook), id, type, `${plant.id}`, plant.name, plant.tag, at, due, trace];
    if ((await query(CREATE_TEST, values)).length === 0) return false;
    announced.lanes.push({ subscriber: owner, webhook, due, isAsked: true });
    return true;
  };
}

const OWNS = statement`SELECT 1
  FROM webhooks
  WHERE owner = $1 AND id = $2 AND status <> 'deleted'`;

/** It is sent at once, even during an attempt: the higher generation voids the outcome of that attempt. */
const REDELIVER = statement`UPDATE deliveries
  SET state = 'pending', step = 0, due = $4, leased = false, fence = fence + 1, asked = true, suspicions = 0
  WHERE subscriber = $1 AND webhook = $2 AND event = $3
  RETURNING 1`;

export function redeliver({
  owner,
  webhook,
  event,
  at,
}: RedeliverRequest): Work<'redelivered' | 'no webhook' | 'no delivery'> {
  return async (query, announced) => {
    if ((await query(OWNS, [owner, pathId(webhook)])).length === 0) return 'no webhook';
    const found = await query(REDELIVER, [owner, webhook, pathId(event), at]);
    if (found.length === 0) return 'no delivery';
    announced.lanes.push({ subscriber: owner, webhook, due: at, isAsked: true });
    return 'redelivered';
  };
}

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

export function startReplay({ owner, webhook, from, state }: ReplayRequest, most: number): Work<boolean> {
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
const DELIVERIES = `SELECT d.state, d.attempts, d.due, d.leased, d.reason, e.*,
      ${IS_DISABLED} AS is_disabled
    FROM deliveries d
    CROSS JOIN LATERAL (
      SELECT id, type, created_at, plant::text AS plant, name, tag
      FROM events
      WHERE owner = d.owner AND id = d.event AND type IN (${KNOWN_TYPES})
      LIMIT 1
    ) e
    WHERE ${OF_WEBHOOK} AND ${IS_VISIBLE}`;

const NEWEST_FIRST = `ORDER BY d.event DESC
    LIMIT ${unplanned('$3')}`;

const LIST = statement`${DELIVERIES} AND d.event < $2
  ${NEWEST_FIRST}`;

const LIST_DELIVERED = statement`${DELIVERIES} AND d.event < $2 AND d.state = 'delivered'
  ${NEWEST_FIRST}`;

const LIST_UNDELIVERED = statement`SELECT *
  FROM (
    ${DELIVERIES} AND ${momentOf('d.event')} <= ${momentOf('$2')} AND d.event < $2 AND d.state = $4
      AND ${IS_UNDELIVERED} AND ($5::boolean IS NULL OR $5 = ${IS_DISABLED})
    ORDER BY ${momentOf('d.event')} DESC
    FETCH FIRST ${unplanned('$3')} ROWS WITH TIES
  ) d
  ORDER BY id DESC
  LIMIT $3`;

const FIND = statement`${DELIVERIES} AND d.event = $2`;

const ATTEMPTS = statement`SELECT at, duration_ms, address, status, excerpt, error
  FROM attempts d
  WHERE ${OF_WEBHOOK} AND event = $2
  ORDER BY fence`;

export function deliveryReads(database: Pick<Database, 'read'>, visible: VisibleOwners) {
  const { read } = database;
  return {
    async deliveries({ webhook, state, before = END, limit }: DeliveryQuery): Promise<Delivery[]> {
      const values = [pathId(webhook), before, limit];
      if (state === undefined) return (await read(LIST, values)).map(deliveryOf);
      if (state === 'delivered') return (await read(LIST_DELIVERED, values)).map(deliveryOf);
      const ofState = [...values, storedState(state), disabledWith(state)];
      return (await read(LIST_UNDELIVERED, ofState)).map(deliveryOf);
    },
    async delivery(webhook: string, event: string): Promise<Delivery | undefined> {
      const [row] = await read(FIND, [pathId(webhook), pathId(event)]);
      return row && deliveryOf(row);
    },
    attempts: async (webhook: string, event: string): Promise<AttemptRecord[]> =>
      (await read(ATTEMPTS, [pathId(webhook), pathId(event)])).map(toAttempt),
    ...deliveryCounts(database, visible),
    ...activityReads(database, visible),
  };
}

function deliveryOf(row: Row): Delivery {
  return toDelivery(row, row.is_disabled === true);
}
