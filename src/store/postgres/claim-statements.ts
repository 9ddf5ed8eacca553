import { IS_SENDABLE, KNOWN_TYPES } from '../rows.ts';
import type { Statement } from './database.ts';
import { IS_VISIBLE } from './shares.ts';

/**
 * In a statement of its own: the one behind it sees what those who had the locks before have committed. Not the rows of
 * the webhooks: whoever records outcomes has these for most of the time, and takes no place away.
 */
export const LOCK: Statement = {
  name: 'dispatch-lock-lanes',
  text: `SELECT set_config('plant_store.lanes', coalesce(string_agg(i.webhook, ' '), ''), true)
    FROM json_to_recordset($1) AS i(webhook text)
    WHERE pg_try_advisory_xact_lock(hashtextextended('plant-store: lane ' || i.webhook, 0))`,
};

/** When the bucket of a rate was last drawn from; by a clock that was ahead, now. */
const drawnAt = (row: 'w' | 'o') =>
  `CASE WHEN ${row}.rate_at > $2::int8 + $8::int8 THEN $2 ELSE greatest(${row}.rate_at, $2) END`;

/**
 * $2 now, $3 the end of the leases, $4 how many at most, $5 places of an unknown lane, $6 of one that several replicas
 * are at, $7 the burst of a rate, as a share of a second's,
 * $8 how far the clock of another replica may be ahead.
 *
 * A look into the tables that grow is LATERAL with a limit or a lock, which the planner cannot turn into a join that
 * reads all of them.
 */
function claimSql(isDue: string): string {
  return `WITH input AS MATERIALIZED (
      SELECT *
      FROM json_to_recordset($1) AS i(
        n int, subscriber int8, webhook text, free int, own text[], tokens float8, tokens_at int8
      )
    ), lanes AS MATERIALIZED (
      SELECT i.n, i.subscriber, i.webhook, i.free, i.own,
        w.id IS NOT NULL AS enabled, w.paused_until, w.url, w.rate, w.failing_since, w.private_key, w.rate_at,
        coalesce(w.id = ANY (string_to_array(current_setting('plant_store.lanes', true), ' ')), false) AS locked,
        -- Nobody else has drawn since this replica did: then its own bucket, which it has kept to, is the only one.
        w.rate_tokens IS NOT DISTINCT FROM i.tokens AND w.rate_at IS NOT DISTINCT FROM i.tokens_at AS drew_last,
        CASE WHEN w.rate IS NOT NULL THEN least(
          greatest(1, floor(w.rate * $7::float8)),
          coalesce(
            CASE WHEN w.rate_at > $2::int8 + $8::int8 THEN greatest(1, w.rate_tokens) ELSE w.rate_tokens END
              + greatest(0, $2::int8 - w.rate_at) * w.rate / 1000.0,
            greatest(1, floor(w.rate * $7::float8))
          )
        ) END AS tokens
      FROM input i
      LEFT JOIN webhooks w ON w.owner = i.subscriber AND w.id = i.webhook AND w.status = 'enabled'
    ), wanting AS (
      SELECT l.*, least($4::int, coalesce(l.free, $5::int), CASE WHEN l.free IS NULL AND l.rate IS NOT NULL THEN 1 END)
          AS wanted
      FROM lanes l
      WHERE l.locked AND coalesce(l.paused_until, 0) <= $2
    ), open AS MATERIALIZED (
      SELECT w.*, greatest(0, least(
          w.wanted,
          -- What a replica that is gone had claimed must not stop the lane until its leases end.
          CASE WHEN c.leases > c.own THEN greatest($6::int - c.leases, greatest(1, $6::int / 4) - c.own) END,
          CASE WHEN NOT w.drew_last THEN floor(w.tokens)::int END
        ))::int AS room
      FROM wanting w
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS leases, (count(*) FILTER (WHERE d.event || ':' || d.fence = ANY (w.own)))::int AS own
        FROM deliveries d
        WHERE d.subscriber = w.subscriber AND d.webhook = w.webhook AND d.leased AND d.due > $2
      ) c
    ), found AS MATERIALIZED (
      SELECT o.n, o.subscriber, o.webhook, d.event, row_number() OVER (PARTITION BY o.n ORDER BY d.due, d.event) AS turn
      FROM open o
      CROSS JOIN LATERAL (
        SELECT event, due
        FROM deliveries d
        WHERE subscriber = o.subscriber AND webhook = o.webhook AND ${isDue}
        ORDER BY due, event
        LIMIT o.room
      ) d
    ), dealt AS MATERIALIZED (
      SELECT *
      FROM found
      ORDER BY turn, n
      LIMIT $4
    ), locked AS MATERIALIZED (
      SELECT t.n, t.turn, t.subscriber, t.webhook, t.event, d.owner, d.due, d.step, d.fence
      FROM dealt t
      CROSS JOIN LATERAL (
        SELECT owner, due, step, fence
        FROM deliveries
        WHERE subscriber = t.subscriber AND webhook = t.webhook AND event = t.event AND state = 'pending' AND due <= $2
        FOR NO KEY UPDATE SKIP LOCKED
      ) d
    ), judged AS MATERIALIZED (
      SELECT d.n, d.turn, d.subscriber, d.webhook, d.event, d.due, greatest(d.step, 0) AS step, d.fence + 1 AS fence,
        ${IS_VISIBLE} AS visible, e.event AS content, e.is_known
      FROM locked d
      LEFT JOIN LATERAL (
        SELECT type IN (${KNOWN_TYPES}) AS is_known, json_build_object('id', id, 'type', type,
          'created_at', created_at, 'plant', plant::text, 'name', name, 'tag', tag, 'trace', trace) AS event
        FROM events
        WHERE owner = d.owner AND id = d.event
        LIMIT 1
      ) e ON true
    ), leased AS (
      UPDATE deliveries d
      SET due = $3, leased = true, fence = j.fence, step = j.step
      FROM judged j
      WHERE d.subscriber = j.subscriber AND d.webhook = j.webhook AND d.event = j.event
        AND j.visible AND j.is_known
    ), given_up AS (
      -- Only in a store that was damaged: it must not stop all the others.
      UPDATE deliveries d
      SET state = 'failed', leased = false, reason = 'Its event is missing.'
      FROM judged j
      WHERE d.subscriber = j.subscriber AND d.webhook = j.webhook AND d.event = j.event
        AND j.visible AND j.content IS NULL
    ), withdrawn AS (
      -- Of a share that was removed, before its turn of the removal came.
      DELETE FROM deliveries d
      USING judged j
      WHERE d.subscriber = j.subscriber AND d.webhook = j.webhook AND d.event = j.event AND NOT j.visible
    ), forgotten AS (
      DELETE FROM attempts a
      USING judged j
      WHERE a.subscriber = j.subscriber AND a.webhook = j.webhook AND a.event = j.event AND NOT j.visible
    ), counts AS MATERIALIZED (
      SELECT o.n, coalesce(f.found, 0)::int AS found, coalesce(t.taken, 0)::int AS taken
      FROM open o
      LEFT JOIN (SELECT n, count(*) AS found FROM found GROUP BY n) f ON f.n = o.n
      LEFT JOIN (
        SELECT n, count(*) AS taken
        FROM judged
        WHERE visible AND is_known
        GROUP BY n
      ) t ON t.n = o.n
    ), drawn AS (
      UPDATE webhooks w
      SET rate_tokens = o.tokens - c.taken, rate_at = ${drawnAt('w')}
      FROM open o
      JOIN counts c ON c.n = o.n
      WHERE w.owner = o.subscriber AND w.id = o.webhook AND o.rate IS NOT NULL AND c.taken > 0
    )
    SELECT (
      SELECT json_agg(json_build_object(
          'n', l.n, 'webhook', l.webhook, 'enabled', l.enabled, 'locked', l.locked, 'paused_until', l.paused_until,
          'url', l.url, 'rate', l.rate, 'failing_since', l.failing_since, 'private_key', l.private_key,
          'secrets', CASE WHEN c.taken > 0 THEN (
            SELECT json_agg(s.secret ORDER BY s.created_at DESC)
            FROM webhook_secrets s
            WHERE s.webhook = l.webhook AND (s.expires_at IS NULL OR s.expires_at > $2)
          ) END,
          'wanted', o.wanted, 'room', o.room, 'found', c.found, 'taken', c.taken,
          'first', CASE WHEN c.found < o.room AND c.taken = c.found THEN (
            SELECT d.due
            FROM deliveries d
            WHERE d.subscriber = l.subscriber AND d.webhook = l.webhook AND d.state = 'pending' AND d.due > $2
            ORDER BY d.due
            LIMIT 1
          ) END,
          'tokens', o.tokens - c.taken, 'tokens_at', ${drawnAt('o')}
        ))
      FROM lanes l
      LEFT JOIN open o ON o.n = l.n
      LEFT JOIN counts c ON c.n = l.n
    ) AS found, (
      SELECT json_agg(json_build_object('n', n, 'due', due, 'step', step, 'fence', fence, 'event', content)
          ORDER BY turn, n)
      FROM judged
      WHERE visible AND is_known
    ) AS leased, EXISTS (SELECT 1 FROM judged WHERE NOT is_known) AS unknown`;
}

const IS_DUE = `state = 'pending' AND due <= $2`;

export const CLAIM: Statement = { name: 'dispatch-claim', text: claimSql(IS_DUE) };

/** Leaves out deliveries that only a newer version can send, so that those behind them are found. */
export const CLAIM_CLOSER: Statement = {
  name: 'dispatch-claim-closer',
  text: claimSql(`${IS_DUE} AND ${IS_SENDABLE}`),
};
