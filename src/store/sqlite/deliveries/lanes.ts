import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type {
  LaneContents,
  LaneRequest,
  LaneSettings,
  Position,
  Work,
} from '../../../webhooks/delivery/port.ts';
import { KNOWN_TYPES, toDueDelivery, toLaneSettings } from '../../rows.ts';
import { IS_VISIBLE } from '../access/shares.ts';
import { prepare } from '../engine/prepare.ts';

/** Reads lanes through a connection that does nothing else meanwhile. */
export function laneReads(db: DatabaseSync) {
  const settings = settingsOf(db);
  // Manual deliveries, due or not: a concurrent replay may just have changed their time. Due ones are in `due`, too.
  const asked = deliveriesIn(db, 'deliveries_asked', 'd.asked = 1');
  const due = dueOf(db);
  const nextDue = prepare(db)`SELECT due
    FROM deliveries INDEXED BY deliveries_due
    WHERE webhook = ? AND state = 'pending' AND due > ?
    ORDER BY due
    LIMIT 1`;
  return {
    findWork: workIn(db),
    /** Consistent only within a transaction. */
    read({ webhook, now, after, limit, askedLimit }: LaneRequest): LaneFound {
      const found = settings(webhook, now);
      if (!found) return { settings: undefined, asked: [], due: [], nextDue: undefined, missing: [] };
      const next = nextDue.get(webhook, now)?.due;
      const first = asked.all(webhook, askedLimit);
      const rest = limit > 0 ? due(webhook, now, after, limit) : [];
      return {
        settings: found,
        asked: first.filter(hasEvent).map((row) => toDueDelivery(row, true)),
        due: rest.filter(hasEvent).map((row) => toDueDelivery(row, false)),
        nextDue: next === undefined ? undefined : Number(next),
        missing: [...first, ...rest].filter((row) => !hasEvent(row)).map(({ event }) => String(event)),
      };
    },
  };
}

type LaneFound = LaneContents & {
  /** Events that are missing though they have deliveries. */
  missing: string[];
};

/** Leaves out deliveries whose event is missing, in a damaged store, so that they do not block the others. */
export async function readSound(
  read: () => LaneFound,
  giveUp: (events: readonly string[]) => Promise<unknown>,
): Promise<LaneContents> {
  for (;;) {
    const { missing, ...contents } = read();
    if (missing.length === 0) return contents;
    await giveUp(missing);
  }
}

/** Goes from lane to lane, so that lanes without pending deliveries cost nothing. */
function workIn(db: DatabaseSync): (after: string | undefined, limit: number) => Work[] {
  const next = prepare(db)`SELECT webhook, due
    FROM deliveries INDEXED BY deliveries_due
    WHERE state = 'pending' AND webhook > ?
    ORDER BY webhook, due
    LIMIT 1`;
  const isEnabled = db.prepare(`SELECT 1 FROM webhooks WHERE id = ? AND status = 'enabled'`);
  return (after = '', limit) => {
    const work: Work[] = [];
    for (let row = next.get(after); row && work.length < limit; row = next.get(String(row.webhook))) {
      const webhook = String(row.webhook);
      if (isEnabled.get(webhook)) work.push({ webhook, due: Number(row.due) });
    }
    return work;
  };
}

function settingsOf(db: DatabaseSync): (webhook: string, now: number) => LaneSettings | undefined {
  const settings = prepare(db)`SELECT url, rate, paused_until, failing_since, private_key, generation
    FROM webhooks
    WHERE id = ? AND status = 'enabled'`;
  const secrets = prepare(db)`SELECT secret
    FROM webhook_secrets
    WHERE webhook = ? AND (expires_at IS NULL OR expires_at > ?)
    ORDER BY created_at DESC`;
  return (webhook, now) => {
    const row = settings.get(webhook);
    const keys = secrets.all(webhook, now).map(({ secret }) => String(secret));
    return row && toLaneSettings(row, keys);
  };
}

function dueOf(db: DatabaseSync) {
  const first = deliveriesIn(db, 'deliveries_due', 'd.due <= ?');
  const behind = deliveriesIn(db, 'deliveries_due', 'd.due <= ? AND (d.due, d.event) > (?, ?)');
  return (webhook: string, now: number, after: Position | undefined, limit: number): Row[] =>
    after ? behind.all(webhook, now, after.due, after.event, limit) : first.all(webhook, now, limit);
}

/** In index order. Leaves out event types that only a newer version knows, for that version to handle. */
function deliveriesIn(db: DatabaseSync, index: string, condition: string): StatementSync {
  return prepare(db)`SELECT d.event, d.due, d.step, d.generation, d.suspicions,
      e.id, e.type, e.created_at, CAST(e.plant AS TEXT) AS plant, e.name, e.tag, e.trace
    FROM deliveries d INDEXED BY ${index}
    LEFT JOIN events e ON e.owner = d.owner AND e.id = d.event
    WHERE d.webhook = ? AND d.state = 'pending' AND ${condition} AND ${IS_VISIBLE}
      AND (e.type IS NULL OR e.type IN (${KNOWN_TYPES}))
    ORDER BY d.due, d.event
    LIMIT CAST(? AS INTEGER)`;
}

type Row = Record<string, unknown>;

const hasEvent = ({ id }: Row) => id !== null;
