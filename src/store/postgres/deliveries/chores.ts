import type { ChoreStore } from '../../../webhooks/port.ts';
import { behind } from '../../event-ids.ts';
import { type Database, type Query, type Statement, statement } from '../engine/database.ts';
import { LOCKS } from '../engine/locks.ts';
import type { Queues, Work } from '../engine/writer.ts';
import { FIRST_UNFOLDED, nameFolding } from '../plants/plants.ts';
import type { Announced } from '../replicas/hints.ts';
import { expirySlice, removeDeliveries } from './expiries.ts';
import { replaySlices, type SliceBounds } from './replays.ts';

/**
 * The statements of a slice are planned for its values. A plan for any values expects a few rows of a webhook or user, and
 * one for 100 000 of them then compares each row with each of the slice.
 */
const LOCK = statement`SELECT pg_try_advisory_xact_lock($1::int, $2::int) AS is_mine,
    set_config('plan_cache_mode', 'force_custom_plan', true)`;

/** Part of the long work: does a slice of it. False if it changed nothing. */
type Chore = (bounds: SliceBounds, query: Query, announced: Announced) => Promise<boolean>;

const chores = (): readonly Chore[] => [
  withdrawal,
  replaySlices(),
  webhookRemoval,
  userRemoval,
  keyRemoval,
  nameFolding,
];

async function isMine(query: Query): Promise<boolean> {
  const [row] = await query(LOCK, LOCKS.chores);
  return row?.is_mine === true;
}

export const ANY_CHORE = statement`SELECT 1
  WHERE EXISTS (SELECT 1 FROM replays)
     OR EXISTS (SELECT 1 FROM withdrawals)
     OR EXISTS (SELECT 1 FROM webhooks WHERE status = 'deleted')
     OR EXISTS (SELECT 1 FROM users WHERE deleted_at IS NOT NULL)
     OR EXISTS (SELECT 1 FROM idempotency WHERE expires_at <= $1)
     OR (${FIRST_UNFOLDED}) IS NOT NULL`;

/**
 * Long work in slices, on one replica at a time: the others leave it to that one. Each is a transaction of its own: with
 * deliveries of several webhooks in one, it and a recording could wait for each other.
 */
export function choreStore({ read }: Pick<Database, 'read'>, { slice }: Pick<Queues, 'slice'>): ChoreStore {
  const all = chores();
  return {
    hasChores: async (now) => (await read(ANY_CHORE, [now])).length > 0,
    async advance(bounds) {
      let hasMoved = false;
      for (const chore of all) {
        const moves: Work<boolean> = async (query, announced) =>
          (await isMine(query)) && chore(bounds, query, announced);
        if (await slice(moves)) hasMoved = true;
      }
      return hasMoved;
    },
    removeExpired: (request) =>
      slice(async (query) =>
        // Another replica is working: this one continues from here, and repeats only a check.
        (await isMine(query)) ? expirySlice(request, query) : (request.from ?? { owner: 0, event: '' }),
      ),
  };
}

/**
 * Removes some data of a deleted webhook, and finally the webhook: once no transaction is left that may still add to
 * it. Never from two tables at once, since a recording locks the webhook before its deliveries.
 */
async function webhookRemoval({ limit }: SliceBounds, query: Query): Promise<boolean> {
  const [row] = await query(FIRST_WEBHOOK);
  if (!row) return false;
  const key = [row.owner, row.id];
  for (const part of WEBHOOK_PARTS) if ((await query(part, [limit, ...key])).length > 0) return true;
  return (await query(REMOVE_WEBHOOK, key)).length > 0;
}

/** Removable webhooks first, so that one that must wait blocks no other. */
const FIRST_WEBHOOK = statement`SELECT owner, id
  FROM webhooks
  WHERE status = 'deleted'
  ORDER BY deleted_tx < pg_snapshot_xmin(pg_current_snapshot()) DESC, id
  LIMIT 1`;

const WEBHOOK_PARTS = [
  someOf('attempts', 'subscriber = $2 AND webhook = $3', 'event, fence'),
  someOf('deliveries', 'subscriber = $2 AND webhook = $3', 'event'),
];

// An attempt may have been recorded while its delivery was being removed.
const REMOVE_WEBHOOK = statement`DELETE FROM webhooks
  WHERE owner = $1 AND id = $2 AND deleted_tx < pg_snapshot_xmin(pg_current_snapshot())
    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE subscriber = $1 AND webhook = $2)
    AND NOT EXISTS (SELECT 1 FROM attempts WHERE subscriber = $1 AND webhook = $2)
  RETURNING 1`;

/** Drops some deliveries of the owner's events to a former viewer's webhooks. */
async function withdrawal({ limit }: SliceBounds, query: Query): Promise<boolean> {
  const [row] = await query(FIRST_WITHDRAWAL);
  if (!row) return false;
  const { subscriber, webhook, owner, next, through } = row;
  const found = await query(LIST, [subscriber, webhook, next, through, limit]);
  const events = found.filter((delivery) => delivery.owner === owner).map(({ event }) => String(event));
  if (events.length > 0) {
    await removeDeliveries([{ subscriber, webhook }], events, query);
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

const GO_ON = statement`UPDATE withdrawals SET next = $3 WHERE webhook = $1 AND owner = $2`;

const END_WITHDRAWAL = statement`DELETE FROM withdrawals WHERE webhook = $1 AND owner = $2`;

/** Removes some data of a deleted user, and finally the user, once their webhooks are gone. */
async function userRemoval({ limit }: SliceBounds, query: Query, announced: Announced): Promise<boolean> {
  const [row] = await query(FIRST_USER);
  if (!row) return false;
  for (const part of USER_PARTS) if ((await query(part, [limit, row.id])).length > 0) return true;
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

const USER_PARTS = [
  someOf('plants', 'owner = $2', 'id'),
  someOf('events', 'owner = $2', 'id'),
  someOf('idempotency', 'user_id = $2', 'request'),
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

/**
 * Deletes the first `$1` rows that the condition selects, and those equal to the last, in the order of an index on the
 * rest of the key: the order in which outcomes lock deliveries.
 */
function someOf(table: string, condition: string, key: string): Statement {
  return statement`DELETE FROM ${table}
  WHERE ${condition} AND (${key}) <= (
      SELECT ${key}
      FROM (SELECT ${key} FROM ${table} WHERE ${condition} ORDER BY ${key} LIMIT $1) slice
      ORDER BY (${key}) DESC
      LIMIT 1
    )
  RETURNING 1`;
}

/** Removes some of the expired answers to requests with a key. */
async function keyRemoval({ now, limit }: SliceBounds, query: Query): Promise<boolean> {
  return (await query(REMOVE_KEYS, [limit, now])).length > 0;
}

const REMOVE_KEYS = someOf('idempotency', 'expires_at <= $2', 'expires_at');
