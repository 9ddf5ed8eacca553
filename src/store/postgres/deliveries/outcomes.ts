import { delivery as limits } from '../../../limits.ts';
import type { Outcome, Recorded } from '../../../webhooks/delivery/port.ts';
import { IS_VISIBLE } from '../access/shares.ts';
import type { Bound, Database } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';

/**
 * Records attempts and what follows from them (`LaneStore.record`) in one transaction and one round trip. If the answer
 * to a commit was lost, it finds what is recorded.
 * @param replica the owner of the lanes; outcomes of lanes of others are lost
 */
export async function recordOutcomes(
  { write }: Pick<Database, 'write'>,
  replica: string,
  outcomes: readonly Outcome[],
): Promise<Recorded[]> {
  const parts = partsOf(outcomes.map(inputOf));
  const webhooks = [...new Set(outcomes.map(({ webhook }) => webhook))];
  const bind = (part: readonly Input[]): Bound[] => {
    const values = [JSON.stringify(part), replica];
    const own = [RECORD, UPDATE_WEBHOOKS].map((statement) => ({ statement, values }));
    // Each attempt raises the generation: below this there are none to forget.
    const mayForget = part.some(({ generation }) => generation >= limits.attemptsKept);
    return mayForget ? [...own, { statement: FORGET, values: [...values, limits.attemptsKept] }] : own;
  };
  const lock = { statement: LOCK, values: [webhooks, replica] };
  const [, ...results] = await write([lock, ...parts.flatMap(bind)]);
  const recorded: Recorded[] = [];
  // Only `RECORD` returns rows, each with one of these results.
  for (const { n, result } of results.flat()) recorded[Number(n)] = result as Recorded;
  return recorded;
}

type Input = ReturnType<typeof inputOf>;

function inputOf(outcome: Outcome, n: number) {
  const { webhook, fence, event, generation, step, attempt, reason, next, laneState } = outcome;
  const { at, durationMs, address, status, excerpt, error } = attempt;
  return {
    n,
    webhook,
    fence,
    event,
    generation,
    step,
    at,
    duration_ms: durationMs,
    address,
    status,
    excerpt: storable(excerpt),
    error: storable(error),
    reason: storable(reason),
    next: next.state,
    ...(next.state === 'pending' ? { next_due: next.due, next_step: next.step } : {}),
    webhook_generation: laneState.generation,
    paused_until: laneState.pausedUntil,
    failing_since: laneState.failingSince,
    disabled_reason: storable(laneState.disabledReason),
  };
}

/** PostgreSQL cannot store NUL or lone surrogates; a response may contain both. */
function storable(text: string | undefined): string | undefined {
  return text?.toWellFormed().replaceAll('\0', '\ufffd');
}

/** A statement cannot change a row twice, so two outcomes of one delivery go into two statements. */
function partsOf(inputs: readonly Input[]): Input[][] {
  const parts: Input[][] = [];
  let keys = new Set<string>();
  for (const input of inputs) {
    const key = `${input.webhook} ${input.event}`;
    if (parts.length === 0 || keys.has(key)) {
      parts.push([]);
      keys = new Set();
    }
    keys.add(key);
    parts.at(-1)?.push(input);
  }
  return parts;
}

/** In a statement of its own, so that later ones see what others committed. Locks lanes and webhooks until the end. */
const LOCK = statement`SELECT 1
  FROM lanes l
  JOIN webhooks w ON w.id = l.webhook
  WHERE l.webhook = ANY ($1::text[]) AND l.replica = $2
  ORDER BY l.webhook
  FOR SHARE OF l
  FOR NO KEY UPDATE OF w`;

const INPUT = `SELECT *
      FROM json_to_recordset($1) AS i(
        n int, webhook text, fence int8, event text, generation int, step int, at int8, duration_ms int, address text,
        status int, excerpt text, error text, reason text, next text, next_due int8, next_step int,
        webhook_generation int8, paused_until int8, failing_since int8, disabled_reason text
      )`;

/** LATERAL with a limit makes the planner read one partition per outcome. */
const ATTEMPT = `SELECT at
        FROM attempts
        WHERE subscriber = l.subscriber AND webhook = i.webhook AND event = i.event AND fence = i.generation + 1
        LIMIT 1`;

/** An attempt is kept under the generation after that of its delivery; a late one only if that is unused. */
const RECORD = statement`WITH input AS MATERIALIZED (
    ${INPUT}
  ), judged AS MATERIALIZED (
    SELECT i.*, l.subscriber, a.at IS NULL AS is_free, CASE
        WHEN d.event IS NULL AND (l.webhook IS NOT NULL OR NOT EXISTS (SELECT 1 FROM webhooks WHERE id = i.webhook))
          THEN 'gone'
        WHEN l.webhook IS NULL THEN 'lost'
        WHEN a.at = i.at AND i.next = 'pending' AND d.step <> i.next_step THEN 'known anew'
        WHEN a.at = i.at THEN 'known'
        WHEN d.state <> 'pending' OR d.fence <> i.generation THEN 'late'
        WHEN i.next = 'delivered' OR d.step = i.step THEN 'settled'
        ELSE 'anew'
      END AS result
    FROM input i
    LEFT JOIN lanes l ON l.webhook = i.webhook AND l.fence = i.fence AND l.replica = $2
    LEFT JOIN LATERAL (
      SELECT event, state, fence, step
      FROM deliveries d
      WHERE subscriber = l.subscriber AND webhook = i.webhook AND event = i.event AND ${IS_VISIBLE}
      FOR NO KEY UPDATE
    ) d ON true
    LEFT JOIN LATERAL (
      ${ATTEMPT}
    ) a ON true
  ), counted AS MATERIALIZED (
    SELECT *
    FROM judged
    WHERE result IN ('settled', 'anew') OR (result = 'late' AND is_free)
  ), kept AS (
    -- An existing attempt belongs to a delivery that was removed and created again.
    INSERT INTO attempts (subscriber, webhook, event, fence, at, duration_ms, address, status, excerpt, error)
    SELECT subscriber, webhook, event, generation + 1, at, duration_ms, address, status, excerpt, error
    FROM counted
    ON CONFLICT (subscriber, webhook, event, fence) DO UPDATE
    SET at = excluded.at, duration_ms = excluded.duration_ms, address = excluded.address, status = excluded.status,
      excerpt = excluded.excerpt, error = excluded.error
  ), added AS (
    UPDATE deliveries d
    SET attempts = d.attempts + 1
    FROM counted c
    WHERE d.subscriber = c.subscriber AND d.webhook = c.webhook AND d.event = c.event AND c.result = 'late'
  ), changed AS (
    UPDATE deliveries d
    SET attempts = d.attempts + 1, fence = d.fence + 1, leased = false, asked = false, suspicions = 0,
        reason = c.reason,
        state = CASE c.result WHEN 'settled' THEN c.next ELSE d.state END,
        step = CASE c.result WHEN 'settled' THEN coalesce(c.next_step, d.step) ELSE 0 END,
        due = CASE c.result WHEN 'settled' THEN coalesce(c.next_due, d.due) ELSE c.at END
    FROM counted c
    WHERE d.subscriber = c.subscriber AND d.webhook = c.webhook AND d.event = c.event AND c.result <> 'late'
  )
  SELECT n, CASE result WHEN 'known' THEN 'settled' WHEN 'known anew' THEN 'anew' ELSE result END AS result
  FROM judged`;

/** Updates webhooks from recorded attempts: the last one that used the webhook's current generation wins. */
const UPDATE_WEBHOOKS = statement`WITH counted AS MATERIALIZED (
    SELECT i.*, l.subscriber, i.webhook_generation = w.generation AS is_meant
    FROM (${INPUT}) i
    JOIN lanes l ON l.webhook = i.webhook AND l.fence = i.fence AND l.replica = $2
    JOIN webhooks w ON w.owner = l.subscriber AND w.id = i.webhook AND w.status <> 'deleted'
    JOIN LATERAL (
      ${ATTEMPT}
    ) a ON a.at = i.at
  ), notes AS (
    SELECT subscriber, webhook, max(n) FILTER (WHERE is_meant) AS last,
      max(disabled_reason) FILTER (WHERE is_meant) AS disabled_reason,
      max(at) FILTER (WHERE reason IS NULL) AS success_at, max(at) FILTER (WHERE reason IS NOT NULL) AS failure_at
    FROM counted
    GROUP BY subscriber, webhook
  )
  UPDATE webhooks w
  SET last_success_at = greatest(w.last_success_at, o.success_at),
      last_failure_at = greatest(w.last_failure_at, o.failure_at),
      paused_until = CASE WHEN c.n IS NULL THEN w.paused_until ELSE c.paused_until END,
      failing_since = CASE WHEN c.n IS NULL THEN w.failing_since ELSE c.failing_since END,
      status = CASE WHEN o.disabled_reason IS NULL THEN w.status ELSE 'disabled' END,
      disabled_reason = CASE
        WHEN o.disabled_reason IS NULL OR w.status = 'disabled' THEN w.disabled_reason
        ELSE o.disabled_reason
      END
  FROM notes o
  LEFT JOIN counted c ON c.webhook = o.webhook AND c.n = o.last
  WHERE w.owner = o.subscriber AND w.id = o.webhook`;

/** Keeps the newest attempts of a delivery. */
const FORGET = statement`DELETE FROM attempts a
  USING (${INPUT}) i
  JOIN lanes l ON l.webhook = i.webhook AND l.fence = i.fence AND l.replica = $2
  WHERE a.subscriber = l.subscriber AND a.webhook = i.webhook AND a.event = i.event
    AND a.fence <= (
      SELECT o.fence
      FROM attempts o
      WHERE o.subscriber = l.subscriber AND o.webhook = i.webhook AND o.event = i.event
      ORDER BY o.fence DESC
      OFFSET $3::int
      LIMIT 1
    )`;
