import type { DatabaseSync } from 'node:sqlite';
import type { KeyStore, Once } from '../../../idempotency/port.ts';
import { ifFound, toKeptRecord } from '../../rows.ts';
import { hadEffect, KEY_USED } from '../../write-outcomes.ts';
import type { Snapshot } from '../engine/snapshot.ts';

const FIND = `SELECT fingerprint, status, location, body
  FROM idempotency
  WHERE user = ? AND method = ? AND path = ? AND key = ? AND expires_at > ?`;

/** Runs a write unless its key has a record, and records its answer if it had an effect. */
export function onceWith(db: DatabaseSync) {
  const find = db.prepare(FIND);
  // Only an expired record can be in its place.
  const put = db.prepare(`INSERT OR REPLACE INTO idempotency
    (user, method, path, key, fingerprint, status, location, body, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);

  return (
    { user, method, path, key, at, fingerprint, expiresAt, answer }: Once,
    write: () => unknown,
  ): unknown => {
    if (find.get(user, method, path, key, at)) return KEY_USED;
    const outcome = write();
    if (!hadEffect(outcome)) return outcome;
    const { status, location = null, appendsId, body } = answer;
    // A create assigned the id that it appends.
    const whole = appendsId ? `${location}${outcome}` : location;
    put.run(user, method, path, key, fingerprint, status, whole, body, expiresAt);
    return outcome;
  };
}

export function idempotencyReads(db: DatabaseSync, snapshot: Snapshot): Pick<KeyStore, 'keptAnswer'> {
  const find = db.prepare(FIND);
  return {
    keptAnswer: async ({ user, method, path, key }, now) =>
      snapshot.read(() => ifFound(find.get(user, method, path, key, now), toKeptRecord)),
  };
}
