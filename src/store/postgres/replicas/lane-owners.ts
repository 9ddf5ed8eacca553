import { lanes as limits } from '../../../limits.ts';
import type { LaneOfStore, LeaseStore } from '../../../webhooks/delivery/leases.ts';
import { toRecord } from '../../rows.ts';
import { IS_ALIVE, IS_FREE, othersThan } from '../deliveries/lanes.ts';
import { type Database, statement, urgent } from '../engine/database.ts';
import { DATABASE_NOW, DATABASE_TIME, type DatabaseClock } from './database-clock.ts';

/** @param clock set with each look at the members */
export function laneOwners(
  { read, write }: Pick<Database, 'read' | 'write'>,
  clock: DatabaseClock,
): LeaseStore {
  return {
    async renew(replica, { isBegun, dispatches }) {
      const [rows = []] = await write([
        { statement: isBegun ? RENEW : BEGIN, values: [replica, dispatches] },
      ]);
      return rows.length > 0;
    },
    async members() {
      const askedAt = performance.now();
      const [row] = await read(MEMBERS);
      clock.heard(Number(row?.time), askedAt, performance.now());
      // The statement returns an array of texts.
      return row?.members as string[];
    },
    async take(replica, webhooks) {
      const [rows = []] = await write([{ statement: TAKE, values: [webhooks, replica] }]);
      return rows.map(toRecord<LaneOfStore>);
    },
    async giveBack(replica, lanes, isUsed) {
      await write([{ statement: GIVE_BACK, values: [JSON.stringify(lanes), replica, isUsed ? USED : null] }]);
    },
    async end(replica) {
      await write([{ statement: END, values: [replica] }]);
    },
  };
}

/** The owner of a lane that was returned while it had work: its rate may have been used just now. */
const USED = '';

const BEGIN = urgent(statement`WITH gone AS (
    DELETE FROM replicas
    WHERE alive_until < ${DATABASE_NOW} - ${limits.leaseMs}
  )
  INSERT INTO replicas (id, alive_until, dispatches)
  VALUES ($1, ${DATABASE_NOW} + ${limits.leaseMs}, $2)
  ON CONFLICT (id) DO UPDATE
  SET alive_until = excluded.alive_until, dispatches = excluded.dispatches
  RETURNING id`);

const RENEW = urgent(statement`UPDATE replicas
  SET alive_until = ${DATABASE_NOW} + ${limits.leaseMs}, dispatches = $2
  WHERE id = $1 AND alive_until > ${DATABASE_NOW}
  RETURNING id`);

const END = statement`DELETE FROM replicas WHERE id = $1`;

const MEMBERS = urgent(statement`SELECT ${DATABASE_TIME} AS time, array(
    SELECT r.id
    FROM replicas r
    WHERE r.dispatches AND ${IS_ALIVE}
  ) AS members`);

/**
 * Live replicas keep their lanes. One that began after this statement is not among `others`: that it took a lane shows
 * by the fence. Locks in the same order as `deliveries/outcomes.ts`.
 */
const TAKE = statement`WITH ${othersThan('$2')}, free AS MATERIALIZED (
    SELECT w.id AS webhook, w.owner AS subscriber, coalesce(l.fence, 0) + 1 AS fence
    FROM webhooks w
    LEFT JOIN lanes l ON l.webhook = w.id
    WHERE w.id = ANY ($1::text[]) AND w.status = 'enabled' AND ${IS_FREE}
  ), known AS MATERIALIZED (
    SELECT webhook, replica
    FROM lanes
    WHERE webhook IN (SELECT webhook FROM free)
    ORDER BY webhook
    FOR NO KEY UPDATE
  ), taken AS (
    INSERT INTO lanes AS l (webhook, subscriber, replica, fence)
    SELECT f.webhook, f.subscriber, $2, f.fence
    FROM free f
    LEFT JOIN known k ON k.webhook = f.webhook
    ORDER BY f.webhook
    ON CONFLICT (webhook) DO UPDATE
    SET replica = excluded.replica, fence = excluded.fence
    WHERE l.fence = excluded.fence - 1
    RETURNING webhook, fence
  )
  SELECT t.webhook, t.fence, k.replica IS NOT NULL AS is_inherited, nullif(k.replica, '${USED}') AS left_by
  FROM taken t
  LEFT JOIN known k ON k.webhook = t.webhook`;

/** A lane that was taken meanwhile has another fence. */
const GIVE_BACK = statement`WITH own AS MATERIALIZED (
    SELECT l.webhook
    FROM json_to_recordset($1) AS i(webhook text, fence int8)
    JOIN lanes l ON l.webhook = i.webhook AND l.fence = i.fence AND l.replica = $2
    ORDER BY l.webhook
    FOR NO KEY UPDATE OF l
  )
  UPDATE lanes l
  SET replica = $3
  FROM own o
  WHERE l.webhook = o.webhook`;
