import { behind } from '../../event-ids.ts';
import type { Query } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';
import type { Announced } from '../replicas/hints.ts';
import type { SliceBounds } from './replays.ts';

/**
 * Removes some data of a deleted webhook, and finally the webhook: once no transaction is left that may still add to
 * it. Never from two tables at once, since a recording locks the webhook before its deliveries.
 */
export async function webhookRemoval({ limit }: SliceBounds, query: Query): Promise<boolean> {
  const [row] = await query(FIRST_WEBHOOK);
  if (!row) return false;
  const key = [row.owner, row.id];
  for (const part of WEBHOOK_PARTS) if ((await query(part, [...key, limit])).length > 0) return true;
  return (await query(REMOVE_WEBHOOK, key)).length > 0;
}

/** Removable webhooks first, so that one that must wait blocks no other. */
const FIRST_WEBHOOK = statement`SELECT owner, id
  FROM webhooks
  WHERE status = 'deleted'
  ORDER BY deleted_tx < pg_snapshot_xmin(pg_current_snapshot()) DESC, id
  LIMIT 1`;

const REMOVE_ATTEMPTS = statement`DELETE FROM attempts a
  USING (
    SELECT event, fence
    FROM attempts
    WHERE subscriber = $1 AND webhook = $2
    ORDER BY event, fence
    LIMIT $3
  ) f
  WHERE a.subscriber = $1 AND a.webhook = $2 AND a.event = f.event AND a.fence = f.fence
  RETURNING 1`;

const REMOVE_DELIVERIES = statement`DELETE FROM deliveries d
  USING (
    SELECT event
    FROM deliveries
    WHERE subscriber = $1 AND webhook = $2
    ORDER BY event
    LIMIT $3
  ) f
  WHERE d.subscriber = $1 AND d.webhook = $2 AND d.event = f.event
  RETURNING 1`;

const WEBHOOK_PARTS = [REMOVE_ATTEMPTS, REMOVE_DELIVERIES];

// An attempt may have been recorded while its delivery was being removed.
const REMOVE_WEBHOOK = statement`DELETE FROM webhooks
  WHERE owner = $1 AND id = $2 AND deleted_tx < pg_snapshot_xmin(pg_current_snapshot())
    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE subscriber = $1 AND webhook = $2)
    AND NOT EXISTS (SELECT 1 FROM attempts WHERE subscriber = $1 AND webhook = $2)
  RETURNING 1`;

/** Drops some deliveries of the owner's events to a former viewer's webhooks. */
export async function withdrawal({ limit }: SliceBounds, query: Query): Promise<boolean> {
  const [row] = await query(FIRST_WITHDRAWAL);
  if (!row) return false;
  const { subscriber, webhook, owner, next, through } = row;
  const found = await query(LIST, [subscriber, webhook, next, through, limit]);
  const events = found.filter((delivery) => delivery.owner === owner).map(({ event }) => String(event));
  if (events.length > 0) {
    await query(WITHDRAW, [subscriber, webhook, events]);
    // After the deliveries are locked, so that this sees attempts recorded meanwhile.
    await query(WITHDRAW_ATTEMPTS, [subscriber, webhook, events]);
  }
  const last = found.at(-1);
  if (last === undefined || found.length < limit) await query(END_WITHDRAWAL, [webhook, owner]);
  else await query(GO_ON, [webhook, owner, behind(String(last.event))]);
  return true;
}

const FIRST_WITHDRAWAL = statement`SELECT subscriber, webhook, owner, next, through
  FROM withdrawals
  ORDER BY webhook, owner
  LIMIT 1
  FOR UPDATE`;

const LIST = statement`SELECT event, owner
  FROM deliveries
  WHERE subscriber = $1 AND webhook = $2 AND event >= $3 AND event <= $4
  ORDER BY event
  LIMIT $5`;

const WITHDRAW = statement`DELETE FROM deliveries WHERE subscriber = $1 AND webhook = $2 AND event = ANY ($3::text[])`;

const WITHDRAW_ATTEMPTS = statement`DELETE FROM attempts WHERE subscriber = $1 AND webhook = $2 AND event = ANY ($3::text[])`;

const GO_ON = statement`UPDATE withdrawals SET next = $3 WHERE webhook = $1 AND owner = $2`;

const END_WITHDRAWAL = statement`DELETE FROM withdrawals WHERE webhook = $1 AND owner = $2`;

/** Removes some data of a deleted user, and finally the user, once their webhooks are gone. */
export async function userRemoval(
  { limit }: SliceBounds,
  query: Query,
  announced: Announced,
): Promise<boolean> {
  const [row] = await query(FIRST_USER);
  if (!row) return false;
  for (const part of USER_PARTS) if ((await query(part, [row.id, limit])).length > 0) return true;
  if ((await query(REMOVE_USER, [row.id])).length === 0) return false;
  for (const table of FORGET) await query(table, [row.id]);
  announced.access = true;
  return true;
}

const FIRST_USER = statement`SELECT id
  FROM users u
  WHERE deleted_at IS NOT NULL
  ORDER BY deleted_tx < pg_snapshot_xmin(pg_current_snapshot())
      AND NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.owner = u.id)
      AND NOT EXISTS (SELECT 1 FROM withdrawals x WHERE x.owner = u.id) DESC, id
  LIMIT 1`;

const someOf = (table: string, owner: string, id: string) => statement`DELETE FROM ${table}
  WHERE ${owner} = $1 AND ${id} IN (SELECT ${id} FROM ${table} WHERE ${owner} = $1 ORDER BY ${id} LIMIT $2)
  RETURNING 1`;

const USER_PARTS = [
  someOf('plants', 'owner', 'id'),
  someOf('events', 'owner', 'id'),
  someOf('idempotency', 'user_id', 'request'),
];

const REMOVE_USER = statement`DELETE FROM users
  WHERE id = $1 AND deleted_tx < pg_snapshot_xmin(pg_current_snapshot())
    AND NOT EXISTS (SELECT 1 FROM webhooks WHERE owner = $1)
    AND NOT EXISTS (SELECT 1 FROM withdrawals WHERE owner = $1)
    AND NOT EXISTS (SELECT 1 FROM plants WHERE owner = $1)
    AND NOT EXISTS (SELECT 1 FROM events WHERE owner = $1)
  RETURNING 1`;

const FORGET = ['removed_events', 'plant_counts', 'assigned_ids', 'ids_without_counter'].map(
  (table) => statement`DELETE FROM ${table} WHERE owner = $1`,
);
