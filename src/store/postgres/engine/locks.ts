import { type Bound, statement } from './database.ts';

/**
 * Arguments of `pg_advisory_xact_lock`, the first unlikely to be another program's. Per transaction, because of
 * poolers.
 */
const SERVICE = 1_886_150_515;

export const LOCKS = {
  /** One program at a time changes the schema. */
  migration: [SERVICE, 1],
  /** One replica at a time does long work. */
  chores: [SERVICE, 2],
  /** One program at a time builds indexes. */
  indexes: [SERVICE, 3],
};

/**
 * The first statement of a batch: later ones see what was committed while this one waited. It locks all users in order,
 * since replicas that lock some of them, and then others, would wait for each other. Exclusively, because plants and
 * counters are locked in order only within a statement, and because others could join a shared lock ahead of those who
 * wait to change the user, which under load would never happen.
 */
export function lockUsers(ids: readonly number[]): Bound {
  return { statement: LOCK_USERS, values: [[...new Set(ids)]] };
}

export const LOCK_USERS = statement`SELECT 1
  FROM users
  WHERE id = ANY($1::int8[])
  ORDER BY id
  FOR NO KEY UPDATE`;

/**
 * Gives users a new version of their row. For those who change what creates read of other tables: a create that locks
 * its users in the same statement, to save a round of statements, sees by the version that it must be repeated. Sets a
 * column that does not change the access epoch: a statement does that even if it finds no user.
 */
export const TOUCH_USERS = (ids: string) => `UPDATE users
  SET created_at = created_at
  WHERE id IN (${ids})`;
