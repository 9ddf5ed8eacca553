import { delivery as limits } from '../../../limits.ts';
import type { Outcome, Recorded } from '../../../webhooks/delivery/port.ts';
import { type Summary, summariesOf } from '../../outcome-summaries.ts';
import { toRecord } from '../../rows.ts';
import { IS_VISIBLE } from '../access/shares.ts';
import { type Database, statement } from '../engine/database.ts';

/**
 * Records attempts and what follows from them (`LaneStore.record`) in one transaction. If the answer to a commit was
 * lost, it finds what is recorded.
 * @param replica the owner of the lanes; outcomes of lanes of others are lost
 */
export function recordOutcomes(
  { transaction }: Pick<Database, 'transaction'>,
  replica: string,
  outcomes: readonly Outcome[],
): Promise<Recorded[]> {
  const parts = partsOf(outcomes.map(inputOf));
  const webhooks = [...new Set(outcomes.map(({ webhook }) => webhook))];
  return transaction(async (query) => {
    const locked = query(LOCK, [webhooks, replica]);
    const recording = parts.map((part) => query(RECORD, [JSON.stringify(part), replica]));
    const [rows] = await Promise.all([Promise.all(recording), locked]);
    const judged = rows.flat().map(toRecord<Judged>);
    judged.sort((one, other) => one.n - other.n);
    const counted = outcomes.filter((_, n) => judged[n]?.isCounted);
    const summaries = summariesOf(counted).map(inputOfSummary);
    const following = [query(FOLLOW, [JSON.stringify(summaries)])];
    // Each attempt raises the generation: below this there are none to forget.
    const long = counted.filter(({ generation }) => generation >= limits.attemptsKept);
    if (long.length > 0) {
      const [ids, events] = [long.map(({ webhook }) => webhook), long.map(({ event }) => event)];
      following.push(query(FORGET, [ids, events, limits.attemptsKept]));
    }
    await Promise.all(following);
    return judged.map(({ result }) => result);
  });
}

/** Of the outcome with this number. */
type Judged = { n: number; result: Recorded; isCounted: boolean };

type Input = ReturnType<typeof inputOf>;

function inputOf({ attempt, next, laneState, begins, ...outcome }: Outcome, n: number) {
  return {
    n,
    ...outcome,
    ...attempt,
    excerpt: storable(attempt.excerpt),
    error: storable(attempt.error),
    reason: storable(outcome.reason),
    next: next.state,
    ...(next.state === 'pending' ? { nextDue: next.due, nextStep: next.step } : {}),
  };
}

function inputOfSummary({ laneState, ...times }: Summary) {
  return { ...times, ...laneState, disabledReason: storable(laneState.disabledReason) };
}

/** PostgreSQL cannot store NUL or lone surrogates; a response may contain both. */
function storable(text: string | undefined): string | undefined {
  return text?.toWellFormed().replaceAll('\0', '\ufffd');
}

/**
 * In the order in which others lock several deliveries. A statement cannot change a row twice, so two outcomes of one
 * delivery go into two statements.
 */
function partsOf(inputs: readonly Input[]): Input[][] {
  const byDelivery = Map.groupBy(inputs, ({ webhook, event }) => `${webhook} ${event}`);
  const ordered = [...byDelivery].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, same]) => same);
  const most = Math.max(0, ...ordered.map(({ length }) => length));
  return Array.from({ length: most }, (_, n) => ordered.flatMap((same) => same[n] ?? []));
}

/**
 * In a statement of its own, so that later ones see what others committed. Locks lanes and webhooks until the end: each
 * webhook before its lane, as its removal does.
 */
const LOCK = statement`SELECT 1
  FROM lanes l
  JOIN webhooks w ON w.id = l.webhook
  WHERE l.webhook = ANY ($1::text[]) AND l.replica = $2
  ORDER BY l.webhook
  FOR NO KEY UPDATE OF w
  FOR SHARE OF l`;

/** An attempt is kept under the generation after that of its delivery; a late one only if that is unused. */
const RECORD = statement`WITH input AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset($1) AS i(
      n int, webhook text, fence int8, event text, generation int, step int, at int8, "durationMs" int, address text,
      status int, excerpt text, error text, reason text, next text, "nextDue" int8, "nextStep" int
    )
  ), judged AS MATERIALIZED (
    SELECT i.*, l.subscriber, a.at IS NULL AS is_free, CASE
        WHEN d.event IS NULL AND (l.webhook IS NOT NULL OR NOT EXISTS (SELECT 1 FROM webhooks WHERE id = i.webhook))
          THEN 'gone'
        WHEN l.webhook IS NULL THEN 'lost'
        WHEN a.at = i.at AND i.next = 'pending' AND d.step <> i."nextStep" THEN 'known anew'
        WHEN a.at = i.at AND i.next = 'failed' AND d.state = 'pending' AND d.due = i.at THEN 'known anew'
        WHEN a.at = i.at THEN 'known'
        WHEN d.state <> 'pending' OR d.fence <> i.generation THEN 'late'
        WHEN i.next = 'delivered' THEN 'settled'
        -- A webhook that was enabled restarts all schedules, slice by slice: until then no delivery has used its schedule up.
        WHEN i.next = 'failed' AND i.step > 0 AND EXISTS (
          SELECT 1
          FROM replays
          WHERE webhook = i.webhook AND hastens AND i.event BETWEEN next AND through
        ) THEN 'anew'
        WHEN d.step = i.step THEN 'settled'
        ELSE 'anew'
      END AS result
    FROM input i
    LEFT JOIN lanes l ON l.webhook = i.webhook AND l.fence = i.fence AND l.replica = $2
    LEFT JOIN LATERAL (
      SELECT event, state, fence, step, due
      FROM deliveries d
      WHERE subscriber = l.subscriber AND webhook = i.webhook AND event = i.event AND ${IS_VISIBLE}
      FOR NO KEY UPDATE
    ) d ON true
    LEFT JOIN LATERAL (
      -- With a limit the planner reads one partition for each. The attempt is missing while the delivery is as it was.
      SELECT at
      FROM attempts
      WHERE (d.state <> 'pending' OR d.fence <> i.generation) AND subscriber = l.subscriber AND webhook = i.webhook
        AND event = i.event AND fence = i.generation + 1
      LIMIT 1
    ) a ON true
  ), counted AS MATERIALIZED (
    SELECT *
    FROM judged
    WHERE result IN ('settled', 'anew') OR (result = 'late' AND is_free)
  ), kept AS (
    -- An existing attempt belongs to a delivery that was removed and created again.
    INSERT INTO attempts (subscriber, webhook, event, fence, at, duration_ms, address, status, excerpt, error)
    SELECT subscriber, webhook, event, generation + 1, at, "durationMs", address, status, excerpt, error
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
        step = CASE c.result WHEN 'settled' THEN coalesce(c."nextStep", d.step) ELSE 0 END,
        due = CASE c.result WHEN 'settled' THEN coalesce(c."nextDue", d.due) ELSE c.at END
    FROM counted c
    WHERE d.subscriber = c.subscriber AND d.webhook = c.webhook AND d.event = c.event AND c.result <> 'late'
  )
  SELECT n, CASE result WHEN 'known' THEN 'settled' WHEN 'known anew' THEN 'anew' ELSE result END AS result,
    result NOT IN ('gone', 'lost') AND (result <> 'late' OR is_free) AS is_counted
  FROM judged`;

/** Writes what attempts say about webhooks; their last success and failure even if the webhook was changed since. */
const FOLLOW = statement`UPDATE webhooks w
  SET last_success_at = greatest(w.last_success_at, s."successAt"),
      last_failure_at = greatest(w.last_failure_at, s."failureAt"),
      paused_until = CASE WHEN w.generation = s.generation THEN s."pausedUntil" ELSE w.paused_until END,
      failing_since = CASE WHEN w.generation = s.generation THEN s."failingSince" ELSE w.failing_since END,
      status = CASE WHEN s."disabledReason" IS NULL OR w.generation <> s.generation THEN w.status ELSE 'disabled' END,
      disabled_reason = CASE
        WHEN s."disabledReason" IS NULL OR w.generation <> s.generation OR w.status = 'disabled' THEN w.disabled_reason
        ELSE s."disabledReason"
      END
  FROM json_to_recordset($1) AS s(
    webhook text, generation int8, "pausedUntil" int8, "failingSince" int8, "disabledReason" text, "successAt" int8,
    "failureAt" int8
  )
  WHERE w.id = s.webhook AND w.status <> 'deleted'`;

/** Keeps the newest attempts of deliveries. */
const FORGET = statement`DELETE FROM attempts a
  USING unnest($1::text[], $2::text[]) AS i(webhook, event), webhooks w
  WHERE w.id = i.webhook AND a.subscriber = w.owner AND a.webhook = i.webhook AND a.event = i.event
    AND a.fence <= (
      SELECT o.fence
      FROM attempts o
      WHERE o.subscriber = w.owner AND o.webhook = i.webhook AND o.event = i.event
      ORDER BY o.fence DESC
      OFFSET $3::int
      LIMIT 1
    )`;
