import type { DatabaseSync } from 'node:sqlite';
import { delivery as limits } from '../../limits.ts';
import type { Claim, ClaimRequest, DeliveryOutcome, Disable, Recorded } from '../../webhooks/port.ts';
import { IS_SENDABLE, toEvent, toTrace } from '../rows.ts';
import type { OutboxWrites } from './outbox.ts';
import { IS_VISIBLE } from './shares.ts';
import type { Snapshot } from './snapshot.ts';
import type { Standings } from './standings.ts';

/** The statements of the dispatcher, for the connection that writes. */
export function dispatchWrites(db: DatabaseSync, outbox: OutboxWrites, standings: Standings) {
  const release = db.prepare('UPDATE deliveries SET leased = 0, due = ? WHERE leased = 1');
  // Of a clock that was ahead: nothing would be dealt out before it.
  const forgetClaims = db.prepare(
    `UPDATE webhooks
     SET claimed_at = NULL
     WHERE status = 'enabled' AND next_due > ?1 AND claimed_at > ?1
     RETURNING id`,
  );
  const giveBack = db.prepare(
    `UPDATE deliveries
     SET leased = 0, due = ?
     WHERE webhook = ? AND event = ? AND fence = ? AND leased = 1`,
  );
  const leased = db.prepare('SELECT DISTINCT webhook FROM deliveries WHERE leased = 1');
  return {
    claim: claims(db, standings),
    record: recording(db, outbox, standings),
    giveBack({ webhook, event, fence, due }: Claim): void {
      giveBack.run(due, webhook.id, event.id, fence);
      standings.changed(webhook.id);
    },
    releaseLeases(now: number): void {
      for (const { webhook } of leased.all()) standings.changed(String(webhook));
      release.run(now);
      for (const { id } of forgetClaims.all(now)) standings.changed(String(id));
    },
  };
}

function claims(db: DatabaseSync, standings: Standings): (request: ClaimRequest) => Claim[] {
  const ready = db.prepare(
    `SELECT id, owner, url, rate, failing_since, private_key
     FROM webhooks
     WHERE status = 'enabled' AND next_due <= ?
     ORDER BY next_due
     LIMIT CAST(? AS INTEGER)`,
  );
  const dueWhere = (condition: string) =>
    db.prepare(
      `SELECT event, due
       FROM deliveries d
       WHERE webhook = ? AND state = 'pending' AND due <= ? AND ${condition}
       ORDER BY due
       LIMIT CAST(? AS INTEGER)`,
    );
  const due = dueWhere('true');
  const dueAndSendable = dueWhere(IS_SENDABLE);
  /** Once one was met that is not: those behind it must be found, at the price of a look at each event. */
  let looksCloser = false;
  const secrets = db.prepare(
    `SELECT secret
     FROM webhook_secrets
     WHERE webhook = ? AND (expires_at IS NULL OR expires_at > ?)
     ORDER BY created_at DESC`,
  );
  const lease = leases(db);

  return ({ now, leaseUntil, limit, places }) => {
    // Lanes that are full are found as well: there must be room for the others behind them.
    const lanes = ready.all(now, limit + places.of.size).map((row) => {
      const id = String(row.id);
      const rate = row.rate === null ? undefined : Number(row.rate);
      const free = places.of.get(id) ?? Math.min(places.each, rate === undefined ? limit : 1);
      const found = free > 0 ? (looksCloser ? dueAndSendable : due).all(id, now, Math.min(free, limit)) : [];
      if (found.length === 0) {
        // It has others that are due, for which it would come first every time.
        if (looksCloser && free > 0) standings.claimed(id, now);
        return [];
      }
      const webhook = {
        id,
        url: String(row.url),
        rate,
        failingSince: row.failing_since === null ? undefined : Number(row.failing_since),
        secrets: secrets.all(id, now).map(({ secret }) => String(secret)),
        privateKey: String(row.private_key),
      };
      const owner = Number(row.owner);
      return found.map(({ event, due }) => ({ webhook, owner, event: String(event), due: Number(due) }));
    });
    return dealOut(lanes, limit).flatMap(({ webhook, owner, event, due }) => {
      standings.claimed(webhook.id, now);
      const leased = lease({ id: webhook.id, owner }, event, leaseUntil);
      if (leased === 'unknown') looksCloser = true;
      return typeof leased === 'object' ? [{ webhook, due, leaseUntil, ...leased }] : [];
    });
  };
}

type Leased = Pick<Claim, 'event' | 'trace' | 'step' | 'fence'>;

type Lane = { id: string; owner: number };

function leases(
  db: DatabaseSync,
): (webhook: Lane, event: string, until: number) => Leased | 'unknown' | undefined {
  const lease = db.prepare(
    `UPDATE deliveries AS d
     SET due = ?, leased = 1, fence = fence + 1, step = max(step, 0)
     WHERE webhook = ? AND event = ? AND ${IS_SENDABLE}
     RETURNING owner, step, fence`,
  );
  const event = db.prepare(
    `SELECT id, type, created_at, CAST(plant AS TEXT) AS plant, name, tag, trace
     FROM events
     WHERE owner = ? AND id = ?`,
  );
  const giveUp = db.prepare(
    `UPDATE deliveries
     SET state = 'failed', leased = 0, reason = 'Its event is missing.'
     WHERE webhook = ? AND event = ?`,
  );
  const withdraw = db.prepare('DELETE FROM deliveries WHERE webhook = ? AND event = ?');
  const isVisible = db.prepare(
    `SELECT 1
     FROM deliveries d
     WHERE d.webhook = ? AND d.event = ? AND ${IS_VISIBLE}`,
  );
  return (webhook, id, until) => {
    const row = lease.get(until, webhook.id, id);
    if (!row) return 'unknown';
    if (row.owner !== webhook.owner && !isVisible.get(webhook.id, id)) {
      // Of a share that was removed, before its turn of the removal came.
      withdraw.run(webhook.id, id);
      return undefined;
    }
    const found = event.get(Number(row.owner), id);
    if (!found) {
      // Only in a store that was damaged: it must not stop all the others.
      giveUp.run(webhook.id, id);
      return undefined;
    }
    return {
      event: toEvent(found),
      trace: toTrace(found),
      step: Number(row.step),
      fence: Number(row.fence),
    };
  };
}

/** Takes one of each lane in turn until `limit` are taken: a long lane leaves room for the short ones. */
function dealOut<T>(lanes: T[][], limit: number): T[] {
  const dealt: T[] = [];
  const longest = lanes.reduce((most, lane) => Math.max(most, lane.length), 0);
  for (let turn = 0; turn < longest; turn++) {
    for (const lane of lanes) {
      if (dealt.length === limit) return dealt;
      const item = lane[turn];
      if (item !== undefined) dealt.push(item);
    }
  }
  return dealt;
}

function recording(
  db: DatabaseSync,
  outbox: OutboxWrites,
  standings: Standings,
): (outcome: DeliveryOutcome) => Recorded {
  const settle = db.prepare(
    `UPDATE deliveries
     SET state = ?, attempts = attempts + 1, step = coalesce(?, step), due = coalesce(?, due), leased = 0, reason = ?
     WHERE webhook = ? AND event = ? AND fence = ? AND state = 'pending' AND leased = 1 AND (? OR step = ?)
     RETURNING attempts`,
  );
  const beginAnew = db.prepare(
    `UPDATE deliveries
     SET attempts = attempts + 1, step = 0, due = ?, leased = 0, reason = ?
     WHERE webhook = ? AND event = ? AND fence = ? AND state = 'pending' AND leased = 1
     RETURNING attempts`,
  );
  const count = db.prepare(
    `UPDATE deliveries
     SET attempts = attempts + 1
     WHERE webhook = ? AND event = ?
       AND NOT EXISTS (SELECT 1 FROM attempts WHERE webhook = ? AND event = ? AND fence = ?)
     RETURNING attempts`,
  );
  const keep = attemptWrites(db);
  const follow = consequences(db, standings);

  return (outcome) => {
    const { webhook, event, fence, step, attempt, reason = null, next } = outcome;
    const [nextStep, due] = next.state === 'pending' ? [next.step, next.due] : [null, null];
    const isDelivered = next.state === 'delivered' ? 1 : 0;
    const asMeant = settle.get(next.state, nextStep, due, reason, webhook, event, fence, isDelivered, step);
    const anew = asMeant ? undefined : beginAnew.get(attempt.at, reason, webhook, event, fence);
    if (anew) outbox.madeDue(1);
    const settled = asMeant ?? anew;
    const counted = settled ?? count.get(webhook, event, webhook, event, fence);
    if (!counted) return 'late';
    keep(outcome, Number(counted.attempts));
    if (reason === null) standings.succeeded(webhook, attempt.at);
    else standings.failed(webhook, attempt.at);
    return settled ? follow(outcome) : 'late';
  };
}

function attemptWrites(db: DatabaseSync): (outcome: DeliveryOutcome, attempts: number) => void {
  const insert = db.prepare(
    `INSERT INTO attempts (webhook, event, fence, at, duration_ms, address, status, excerpt, error)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const forget = db.prepare(
    `DELETE FROM attempts
     WHERE webhook = ? AND event = ? AND fence <= (
       SELECT fence
       FROM attempts
       WHERE webhook = ? AND event = ?
       ORDER BY fence DESC
       LIMIT 1 OFFSET ${limits.attemptsKept}
     )`,
  );
  return ({ webhook, event, fence, attempt }, attempts) => {
    const { at, durationMs, address, status, excerpt, error } = attempt;
    insert.run(
      webhook,
      event,
      fence,
      at,
      durationMs,
      address ?? null,
      status ?? null,
      excerpt ?? null,
      error ?? null,
    );
    if (attempts > limits.attemptsKept) forget.run(webhook, event, webhook, event);
  };
}

/** What an attempt means for the whole webhook. */
function consequences(db: DatabaseSync, standings: Standings): (outcome: DeliveryOutcome) => Recorded {
  const begin = db.prepare(
    `UPDATE webhooks
     SET paused_until = ?
     WHERE id = ? AND url = ? AND coalesce(paused_until, 0) <= ?`,
  );
  const lengthen = db.prepare(
    `UPDATE webhooks
     SET paused_until = max(paused_until, ?)
     WHERE id = ? AND url = ?`,
  );
  const disable = db.prepare(
    `UPDATE webhooks
     SET status = 'disabled', disabled_reason = ?
     WHERE id = ? AND url = ? AND status = 'enabled' AND (? IS NULL OR failing_since = ?)`,
  );

  /** Whether it is a new one: not of an attempt that was under way when the pause began. */
  function pause({ webhook, url, attempt }: DeliveryOutcome, until: number): boolean {
    if (Number(begin.run(until, webhook, url, attempt.at).changes) > 0) return true;
    lengthen.run(until, webhook, url);
    return false;
  }

  function end({ webhook, url }: DeliveryOutcome, { reason, ifFailingSince }: Disable): boolean {
    // What this transaction has noted of the webhook counts as well.
    standings.write();
    const { changes } = disable.run(reason, webhook, url, ifFailingSince ?? null, ifFailingSince ?? null);
    return Number(changes) > 0;
  }

  return (outcome) => {
    const { webhook, pauseUntil, disable: ending } = outcome;
    const pauses = pauseUntil !== undefined && pause(outcome, pauseUntil);
    const ends = ending !== undefined && end(outcome, ending);
    standings.changed(webhook);
    if (ends) return 'disabled';
    return pauses ? 'paused' : 'settled';
  };
}

/** When there will be something to claim. */
export function dispatchReads(db: DatabaseSync, snapshot: Snapshot) {
  const next = db.prepare(
    `SELECT min(next_due) AS due
     FROM webhooks
     WHERE status = 'enabled' AND next_due > ?`,
  );
  return {
    nextDue(now: number): number | undefined {
      const due = snapshot.read(() => next.get(now)?.due);
      return due === null || due === undefined ? undefined : Number(due);
    },
  };
}
