import type { DatabaseSync } from 'node:sqlite';
import type { KeyStore, Once } from '../../../idempotency/port.ts';
import { ifFound, toKeptRecord } from '../../rows.ts';
import { hadEffect, KEY_USED } from '../../write-outcomes.ts';
import type { Snapshot } from '../engine/snapshot.ts';

const FIND = `SELECT fingerprint, status, location, body
  FROM idempotency
  WHERE user = ? AND method = ? AND path = ? AND key = ? AND expires_at > ?`;

export function idempotencyWrites(db: DatabaseSync) {
  const find = db.prepare(FIND);
  // Only an expired record can be in its place.
  const put = db.prepare(`INSERT OR REPLACE INTO idempotency
    (user, method, path, key, fingerprint, status, location, body, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);

  function isUsed({ user, method, path, key, at }: Once): boolean {
    return find.get(user, method, path, key, at) !== undefined;
  }

  function keep(
    { user, method, path, key, fingerprint, expiresAt, answer }: Once,
    location = answer.location,
  ) {
    put.run(user, method, path, key, fingerprint, answer.status, location ?? null, answer.body, expiresAt);
  }

  return {
    keepAnswer(once: Once): boolean {
      if (isUsed(once)) return false;
      keep(once);
      return true;
    },
    /** Runs a write unless its key has a record, and records its answer if it had an effect. */
    once(once: Once, write: () => unknown): unknown {
      if (isUsed(once)) return KEY_USED;
      const outcome = write();
      // A create assigned the id that it appends.
      if (hadEffect(outcome))
        keep(once, once.answer.appendsId ? `${once.answer.location}${outcome}` : undefined);
      return outcome;
    },
  };
}

export function idempotencyReads(db: DatabaseSync, snapshot: Snapshot): Pick<KeyStore, 'keptAnswer'> {
  const find = db.prepare(FIND);
  return {
    keptAnswer: async ({ user, method, path, key }, now) =>
      snapshot.read(() => ifFound(find.get(user, method, path, key, now), toKeptRecord)),
  };
}
