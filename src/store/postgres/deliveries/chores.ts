import type { ExpiryPosition, ExpiryRequest } from '../../../webhooks/port.ts';
import type { Database, Query } from '../engine/database.ts';
import { LOCKS } from '../engine/locks.ts';
import { statement } from '../engine/statement.ts';
import type { Work } from '../engine/writer.ts';
import { FIRST_UNFOLDED, nameFolding } from '../plants/name-folding.ts';
import type { Announced } from '../replicas/hints.ts';
import { expirySlice, keyRemoval } from './expiries.ts';
import { userRemoval, webhookRemoval, withdrawal } from './removals.ts';
import { replaySlice, type SliceBounds } from './replays.ts';

const LOCK = statement`SELECT pg_try_advisory_xact_lock($1::int, $2::int) AS is_mine`;

/** Part of the long work: does a slice of it. False if it changed nothing. */
type Chore = (bounds: SliceBounds, query: Query, announced: Announced) => Promise<boolean>;

const CHORES: readonly Chore[] = [
  withdrawal,
  replaySlice,
  webhookRemoval,
  userRemoval,
  keyRemoval,
  nameFolding,
];

/**
 * Long work in slices, on one replica at a time: the others leave it to that one. Each is a transaction of its own: with
 * deliveries of several webhooks in one, it and a recording could wait for each other.
 */
export function slicesOf(bounds: SliceBounds): Work<boolean>[] {
  return CHORES.map(
    (chore) => async (query, announced) => (await isMine(query)) && chore(bounds, query, announced),
  );
}

/** The same for what has expired. */
export function removeExpired(request: ExpiryRequest): Work<ExpiryPosition | undefined> {
  return async (query) =>
    // Another replica is working: this one continues from here, and repeats only a check.
    (await isMine(query)) ? expirySlice(request, query) : (request.from ?? { owner: 0, event: '' });
}

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

export function choreReads({ read }: Pick<Database, 'read'>) {
  return { hasChores: async (now: number): Promise<boolean> => (await read(ANY_CHORE, [now])).length > 0 };
}
