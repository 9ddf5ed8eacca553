import { createHash } from 'node:crypto';
import type { Caller, Once, RequestKey } from '../../../idempotency/port.ts';
import { hadEffect, KEY_USED, USER_GONE } from '../../write-outcomes.ts';
import { type Bound, type Query, statement } from '../engine/database.ts';

/** What a key belongs to, as stored in the table. */
export function requestOf({ method, path, key }: RequestKey): string {
  return createHash('sha256').update(`${method}\n${path}\n${key}`).digest('hex');
}

const REMOVE_OVER = statement`DELETE FROM idempotency k
  USING json_to_recordset($1) AS i(user_id int8, request text, at int8)
  WHERE k.user_id = i.user_id AND k.request = i.request AND k.expires_at <= i.at`;

/** Removes the expired records of these keys. */
export function removeOver(requests: readonly Once[]): Bound {
  const keys = requests.map((once) => ({ user_id: once.user, request: requestOf(once), at: once.at }));
  return { statement: REMOVE_OVER, values: [JSON.stringify(keys)] };
}

/** Exclusively, as in `lockUsers`; what the work counts of its caller's also stays true. */
const ACTIVE = statement`SELECT 1
  FROM users
  WHERE id = $1 AND disabled_at IS NULL AND deleted_at IS NULL
  FOR NO KEY UPDATE`;

const EXISTS = statement`SELECT 1 FROM idempotency WHERE user_id = $1 AND request = $2`;

const INSERT = statement`INSERT INTO idempotency (user_id, request, fingerprint, status, location, body, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;

/**
 * Runs work, unless its caller is disabled or deleted or its key has a record; records the answer if the work had an
 * effect.
 */
export async function forCaller<T>(
  query: Query,
  caller: Caller | undefined,
  work: () => Promise<T>,
): Promise<T | typeof USER_GONE | typeof KEY_USED> {
  if (!caller) return work();
  const { user, once } = caller;
  if ((await query(ACTIVE, [user])).length === 0) return USER_GONE;
  if (!once) return work();
  const removal = removeOver([once]);
  await query(removal.statement, removal.values);
  if ((await query(EXISTS, [once.user, requestOf(once)])).length > 0) return KEY_USED;
  const outcome = await work();
  if (!hadEffect(outcome)) return outcome;
  const { status, location, body } = once.answer;
  await query(INSERT, [user, requestOf(once), once.fingerprint, status, location, body, once.expiresAt]);
  return outcome;
}
