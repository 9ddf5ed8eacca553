import type { DatabaseSync } from 'node:sqlite';
import { delivery as limits } from '../../../limits.ts';
import type { Outcome, Recorded } from '../../../webhooks/delivery/port.ts';
import { type Summary, summariesOf } from '../../outcome-summaries.ts';
import { IS_VISIBLE } from '../access/shares.ts';

export function outcomeWrites(db: DatabaseSync) {
  const settle = settling(db);
  const keep = attemptWrites(db);
  const follow = stateWrites(db);
  const suspect = db.prepare(`UPDATE deliveries
    SET suspicions = ?
    WHERE webhook = ? AND event = ? AND generation = ?`);
  const giveUp = db.prepare(`UPDATE deliveries
    SET state = 'failed', asked = 0, reason = 'Its event is missing.'
    WHERE webhook = ? AND event = ? AND state = 'pending'`);
  return {
    record(outcomes: readonly Outcome[]): Recorded[] {
      const counted: Outcome[] = [];
      const results = outcomes.map((outcome) => {
        const { result, isKnown } = settle(outcome);
        if (isKnown) return result;
        keep(outcome);
        counted.push(outcome);
        return result;
      });
      for (const summary of summariesOf(counted)) follow(summary);
      return results;
    },
    suspect: (webhook: string, event: string, generation: number, suspicions: number): void =>
      void suspect.run(suspicions, webhook, event, generation),
    giveUp(webhook: string, events: readonly string[]): void {
      for (const event of events) giveUp.run(webhook, event);
    },
  };
}

/** `isKnown`: the attempt was recorded before, or its delivery is gone. */
type Settled = { result: Recorded; isKnown: boolean };

/** Updates the delivery. An attempt is kept under the generation after its own. */
function settling(db: DatabaseSync): (outcome: Outcome) => Settled {
  // A webhook that was enabled restarts all schedules, slice by slice: until then no delivery has used its schedule up.
  const settle = db.prepare(`UPDATE deliveries AS d
    SET state = ?1, attempts = attempts + 1, step = coalesce(?2, step), due = coalesce(?3, due), reason = ?4,
      generation = generation + 1, asked = 0, suspicions = 0
    WHERE webhook = ?5 AND event = ?6 AND generation = ?7 AND ${IS_VISIBLE} AND (?1 = 'delivered' OR step = ?8 AND NOT (
      ?1 = 'failed' AND step > 0 AND EXISTS (
        SELECT 1
        FROM replays
        WHERE webhook = ?5 AND hastens = 1 AND ?6 BETWEEN next AND through
      )
    ))`);
  const beginAnew = db.prepare(`UPDATE deliveries AS d
    SET attempts = attempts + 1, step = 0, due = ?, reason = ?,
      generation = generation + 1, asked = 0, suspicions = 0
    WHERE webhook = ? AND event = ? AND generation = ? AND ${IS_VISIBLE}`);
  const known = db.prepare('SELECT at FROM attempts WHERE webhook = ? AND event = ? AND generation = ?');
  const count = db.prepare(`UPDATE deliveries AS d
    SET attempts = attempts + 1
    WHERE webhook = ? AND event = ? AND ${IS_VISIBLE}`);

  /** The outcome was recorded before, or the delivery has changed meanwhile. */
  function late({ webhook, event, generation, attempt }: Outcome): Settled {
    const before = known.get(webhook, event, generation + 1);
    if (before) return { result: before.at === attempt.at ? 'settled' : 'late', isKnown: true };
    const isThere = count.run(webhook, event).changes > 0;
    return { result: isThere ? 'late' : 'gone', isKnown: !isThere };
  }

  return (outcome) => {
    const { webhook, event, generation, step, attempt, reason = null, next } = outcome;
    const [nextStep, due] = next.state === 'pending' ? [next.step, next.due] : [null, null];
    const key = [webhook, event, generation] as const;
    const asMeant = settle.run(next.state, nextStep, due, reason, ...key, step);
    if (asMeant.changes > 0) return { result: 'settled', isKnown: false };
    const anew = beginAnew.run(attempt.at, reason, ...key);
    return anew.changes > 0 ? { result: 'anew', isKnown: false } : late(outcome);
  };
}

function attemptWrites(db: DatabaseSync): (outcome: Outcome) => void {
  // An existing attempt belongs to a delivery that was removed and created again.
  const insert = db.prepare(`INSERT OR REPLACE INTO attempts
    (webhook, event, generation, at, duration_ms, address, status, excerpt, error)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const forget = db.prepare(`DELETE FROM attempts
    WHERE webhook = ? AND event = ? AND generation <= (
      SELECT generation
      FROM attempts
      WHERE webhook = ? AND event = ?
      ORDER BY generation DESC
      LIMIT 1 OFFSET ${limits.attemptsKept}
    )`);
  return ({ webhook, event, generation, attempt }) => {
    const { at, durationMs, address = null, status = null, excerpt = null, error = null } = attempt;
    insert.run(webhook, event, generation + 1, at, durationMs, address, status, excerpt, error);
    // Each attempt raises the generation: below this there are none to forget.
    if (generation >= limits.attemptsKept) forget.run(webhook, event, webhook, event);
  };
}

function stateWrites(db: DatabaseSync): (summary: Summary) => void {
  const note = db.prepare(`UPDATE webhooks
    SET paused_until = iif(generation = ?2, ?3, paused_until),
      failing_since = iif(generation = ?2, ?4, failing_since),
      last_success_at = coalesce(max(last_success_at, ?5), last_success_at, ?5),
      last_failure_at = coalesce(max(last_failure_at, ?6), last_failure_at, ?6)
    WHERE id = ?1`);
  const disable = db.prepare(`UPDATE webhooks
    SET status = 'disabled', disabled_reason = ?
    WHERE id = ? AND generation = ? AND status = 'enabled'`);
  return ({ webhook, laneState, successAt = null, failureAt = null }) => {
    const { generation, pausedUntil = null, failingSince = null, disabledReason } = laneState;
    note.run(webhook, generation, pausedUntil, failingSince, successAt, failureAt);
    if (disabledReason !== undefined) disable.run(disabledReason, webhook, generation);
  };
}
