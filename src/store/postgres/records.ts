import { delivery as limits } from '../../limits.ts';
import type { DeliveryOutcome, Recorded } from '../../webhooks/port.ts';
import type { Announced } from './announced.ts';
import type { Row, Statement } from './database.ts';
import type { DueLanes } from './due-lanes.ts';
import type { HeldLeases } from './held-leases.ts';
import type { Batched } from './writer.ts';

type Known = { lanes: DueLanes; held: HeldLeases };

/** Outcomes of attempts, of a whole batch in one statement (`Outbox.record`). */
export function records({ lanes, held }: Known): Batched<DeliveryOutcome> {
  return {
    // Of the whole transaction, so that two replicas with several such statements do not wait for each other.
    before: (outcomes) => [
      { statement: LOCK_WEBHOOKS, values: [[...new Set(outcomes.map(({ webhook }) => webhook))]] },
    ],
    bind: (outcomes) => ({
      statement: RECORD,
      values: [JSON.stringify(outcomes.map(inputOf)), limits.attemptsKept],
    }),
    outcomes([row], outcomes, announced) {
      // The statement has one row of this form.
      const { settled, paused, pauses, ends } = row as unknown as RecordRow;
      for (const { webhook, event, fence } of outcomes) {
        held.drop(webhook, { event, fence });
        lanes.loosen(webhook);
      }
      for (const [webhook, until] of paused ?? []) lanes.pause(webhook, until);
      announceDue(
        announced,
        settled.map(({ subscriber, due }, n) => ({ subscriber, due, webhook: outcomes[n]?.webhook })),
      );
      // One with consequences is the only one of its statement.
      const consequence = pauses ? 'paused' : 'settled';
      return settled.map(({ is_settled }): Recorded => {
        if (!is_settled) return 'late';
        return ends ? 'disabled' : consequence;
      });
    },
    standsApart: (outcome, before) =>
      isConsequential(outcome) || before.some((other) => isConsequential(other) || isSame(other, outcome)),
  };
}

type RecordRow = {
  settled: { is_settled: boolean; subscriber: number | null; due: number | null }[];
  paused: [webhook: string, until: number][] | null;
  pauses: boolean | null;
  ends: boolean | null;
};

/** One that what becomes of its webhook depends on what came before it, and what comes behind it on that. */
function isConsequential({ pauseUntil, disable }: DeliveryOutcome): boolean {
  return pauseUntil !== undefined || disable !== undefined;
}

function isSame(one: DeliveryOutcome, other: DeliveryOutcome): boolean {
  return one.event === other.event && one.webhook === other.webhook;
}

function inputOf(outcome: DeliveryOutcome, n: number) {
  const { webhook, event, fence, step, url, attempt, reason, next, pauseUntil, disable } = outcome;
  const { at, durationMs, address, status, excerpt, error } = attempt;
  return {
    n,
    webhook,
    event,
    fence,
    step,
    url,
    at,
    duration_ms: durationMs,
    address,
    status,
    excerpt: storable(excerpt),
    error: storable(error),
    reason: storable(reason),
    next: next.state,
    ...(next.state === 'pending' ? { next_due: next.due, next_step: next.step } : {}),
    pause_until: pauseUntil,
    ending: storable(disable?.reason),
    if_failing_since: disable?.ifFailingSince,
  };
}

/** PostgreSQL keeps no NUL and no half of a surrogate pair; a receiver may answer both. */
function storable(text: string | undefined): string | undefined {
  return text?.toWellFormed().replaceAll('\0', '\ufffd');
}

type Due = { subscriber: number | null; webhook: string | undefined; due: number | null };

/** The first of each webhook. */
function announceDue(announced: Announced, all: readonly Due[]): void {
  const first = new Map<string, { subscriber: number; due: number }>();
  for (const { subscriber, webhook, due } of all) {
    if (subscriber === null || webhook === undefined || due === null) continue;
    const known = first.get(webhook);
    if (!known || due < known.due) first.set(webhook, { subscriber, due });
  }
  for (const [webhook, lane] of first) announced.lanes.push({ webhook, ...lane });
}

const LOCK_WEBHOOKS: Statement = {
  name: 'dispatch-lock-webhooks',
  text: `SELECT id
    FROM webhooks
    WHERE id = ANY($1::text[])
    ORDER BY id
    FOR NO KEY UPDATE`,
};

/**
 * An outcome is meant for its claim as long as the delivery has its fence and its lease. One that comes later is
 * counted and its attempt kept, once. Webhooks are locked before (`LOCK_WEBHOOKS`).
 */
const RECORD: Statement = {
  name: 'dispatch-record',
  text: `WITH input AS MATERIALIZED (
      SELECT *
      FROM json_to_recordset($1) AS i(
        n int, webhook text, event text, fence int, step int, url text, at int8, duration_ms int, address text,
        status int, excerpt text, error text, reason text, next text, next_due int8, next_step int, pause_until int8,
        ending text, if_failing_since int8
      )
    ), judged AS MATERIALIZED (
      SELECT i.*, h.owner AS subscriber, d.attempts,
        coalesce(i.fence = d.fence AND d.state = 'pending' AND d.leased, false) AS is_settled,
        -- Otherwise the schedule was begun anew since the claim.
        coalesce(i.next = 'delivered' OR i.step = d.step, false) AS is_as_meant
      FROM input i
      LEFT JOIN webhooks h ON h.id = i.webhook
      LEFT JOIN LATERAL (
        SELECT state, attempts, step, leased, fence
        FROM deliveries
        WHERE subscriber = h.owner AND webhook = i.webhook AND event = i.event
        FOR NO KEY UPDATE
      ) d ON true
    ), kept AS (
      -- What stands there is of a delivery that was removed, and made again.
      INSERT INTO attempts (subscriber, webhook, event, fence, at, duration_ms, address, status, excerpt, error)
      SELECT subscriber, webhook, event, fence, at, duration_ms, address, status, excerpt, error
      FROM judged
      WHERE is_settled
      ON CONFLICT (subscriber, webhook, event, fence) DO UPDATE
      SET at = excluded.at, duration_ms = excluded.duration_ms, address = excluded.address, status = excluded.status,
        excerpt = excluded.excerpt, error = excluded.error
    ), kept_late AS (
      INSERT INTO attempts (subscriber, webhook, event, fence, at, duration_ms, address, status, excerpt, error)
      SELECT subscriber, webhook, event, fence, at, duration_ms, address, status, excerpt, error
      FROM judged
      WHERE NOT is_settled AND attempts IS NOT NULL
      ON CONFLICT DO NOTHING
      RETURNING webhook, event
    ), counted AS MATERIALIZED (
      SELECT j.*
      FROM judged j
      WHERE j.is_settled OR EXISTS (SELECT 1 FROM kept_late k WHERE k.webhook = j.webhook AND k.event = j.event)
    ), forgotten AS (
      -- Those before this one, of which as many as one less than $2 stay.
      DELETE FROM attempts a
      USING counted c
      WHERE c.attempts >= $2::int AND a.subscriber = c.subscriber AND a.webhook = c.webhook AND a.event = c.event
        AND a.fence <= (
          SELECT o.fence
          FROM attempts o
          WHERE o.subscriber = c.subscriber AND o.webhook = c.webhook AND o.event = c.event
          ORDER BY o.fence DESC
          OFFSET $2::int - 1
          LIMIT 1
        )
    ), changed AS (
      UPDATE deliveries d
      SET attempts = d.attempts + 1,
          leased = d.leased AND NOT c.is_settled,
          state = CASE WHEN c.is_settled AND c.is_as_meant THEN c.next ELSE d.state END,
          step = CASE
            WHEN NOT c.is_settled THEN d.step
            WHEN c.is_as_meant THEN coalesce(c.next_step, d.step)
            ELSE 0
          END,
          due = CASE
            WHEN NOT c.is_settled THEN d.due
            WHEN c.is_as_meant THEN coalesce(c.next_due, d.due)
            ELSE c.at
          END,
          reason = CASE WHEN c.is_settled THEN c.reason ELSE d.reason END
      FROM counted c
      WHERE d.subscriber = c.subscriber AND d.webhook = c.webhook AND d.event = c.event
    ), noted AS (
      SELECT c.*, max(n) FILTER (WHERE reason IS NULL) OVER (PARTITION BY webhook) AS last_success
      FROM counted c
    ), notes AS (
      SELECT webhook,
        (array_agg(at ORDER BY n DESC) FILTER (WHERE reason IS NULL))[1] AS success_at,
        (array_agg(at ORDER BY n DESC) FILTER (WHERE reason IS NOT NULL))[1] AS failure_at,
        (array_agg(at ORDER BY n) FILTER (WHERE reason IS NOT NULL AND n > coalesce(last_success, -1)))[1]
          AS fails_since,
        -- One with consequences is the only one of its statement.
        max(pause_until) FILTER (WHERE is_settled) AS pause_until,
        max(ending) FILTER (WHERE is_settled) AS ending,
        max(if_failing_since) AS if_failing_since,
        max(url) AS url
      FROM noted
      GROUP BY webhook
    ), standing AS MATERIALIZED (
      SELECT h.owner, h.id, o.success_at, o.failure_at, o.ending, f.since AS failing_since,
        CASE WHEN o.url = h.url THEN greatest(h.paused_until, o.pause_until) ELSE h.paused_until END AS paused_until,
        -- Not of an attempt that was under way when the pause began.
        coalesce(o.url = h.url AND o.pause_until IS NOT NULL AND coalesce(h.paused_until, 0) <= o.failure_at, false)
          AS pauses,
        o.url = h.url AND h.status = 'enabled' AND o.ending IS NOT NULL
          AND (o.if_failing_since IS NULL OR coalesce(o.if_failing_since = f.since, false)) AS ends
      FROM notes o
      JOIN webhooks h ON h.id = o.webhook
      CROSS JOIN LATERAL (
        SELECT CASE WHEN o.success_at IS NULL THEN coalesce(h.failing_since, o.fails_since) ELSE o.fails_since END
            AS since
      ) f
    ), stood AS (
      UPDATE webhooks w
      SET last_success_at = coalesce(s.success_at, w.last_success_at),
          last_failure_at = coalesce(s.failure_at, w.last_failure_at),
          failing_since = s.failing_since,
          paused_until = s.paused_until,
          status = CASE WHEN s.ends THEN 'disabled' ELSE w.status END,
          disabled_reason = CASE WHEN s.ends THEN s.ending ELSE w.disabled_reason END
      FROM standing s
      WHERE w.owner = s.owner AND w.id = s.id
    )
    SELECT (
      SELECT json_agg(json_build_object(
          'is_settled', is_settled,
          'subscriber', subscriber,
          'due', CASE
            WHEN NOT is_settled THEN NULL
            WHEN NOT is_as_meant THEN at
            ELSE next_due
          END
        ) ORDER BY n)
      FROM judged
    ) AS settled, (
      SELECT json_agg(json_build_array(id, paused_until))
      FROM standing
      WHERE paused_until IS NOT NULL
    ) AS paused,
    (SELECT bool_or(pauses) FROM standing) AS pauses,
    (SELECT bool_or(ends) FROM standing) AS ends`,
};

/** Ends leases, so that their deliveries are due again: a claim that is given back, or that its replica releases. */
export function givesBack({ lanes, held }: Known): Batched<Ended> {
  return {
    bind: (ended) => ({ statement: GIVE_BACK, values: [JSON.stringify(ended)] }),
    outcomes(rows, ended, announced) {
      for (const { webhook, event, fence } of ended) {
        held.drop(webhook, { event, fence });
        lanes.loosen(webhook);
      }
      announceDue(announced, rows.map(toDue));
      return ended.map(() => undefined);
    },
  };
}

type Ended = { webhook: string; event: string; fence: number; due: number };

function toDue({ subscriber, webhook, due }: Row): Due {
  return { subscriber: Number(subscriber), webhook: String(webhook), due: Number(due) };
}

const GIVE_BACK: Statement = {
  name: 'dispatch-give-back',
  text: `WITH leased AS MATERIALIZED (
      SELECT w.owner AS subscriber, i.webhook, i.event, i.due
      FROM json_to_recordset($1) AS i(webhook text, event text, fence int, due int8)
      JOIN webhooks w ON w.id = i.webhook
      CROSS JOIN LATERAL (
        SELECT 1
        FROM deliveries
        WHERE subscriber = w.owner AND webhook = i.webhook AND event = i.event AND fence = i.fence AND leased
        FOR NO KEY UPDATE
      ) d
    )
    UPDATE deliveries d
    SET leased = false, due = l.due
    FROM leased l
    WHERE d.subscriber = l.subscriber AND d.webhook = l.webhook AND d.event = l.event
    RETURNING d.subscriber, d.webhook, d.due`,
};
