import type { DatabaseSync } from 'node:sqlite';
import type { KeptRecord, Once, RequestKey } from '../../../idempotency/port.ts';
import { ifFound, toKeptRecord } from '../../rows.ts';
import { hadEffect, KEY_USED } from '../../write-outcomes.ts';
import type { Snapshot } from '../engine/snapshot.ts';

export function idempotencyWrites(db: DatabaseSync) {
  const removeOver = db.prepare(
    'DELETE FROM idempotency WHERE user = ? AND method = ? AND path = ? AND key = ? AND expires_at <= ?',
  );
  const insert = db.prepare(`INSERT INTO idempotency
    (user, method, path, key, fingerprint, status, location, body, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`);
  const exists = db.prepare(
    'SELECT 1 FROM idempotency WHERE user = ? AND method = ? AND path = ? AND key = ? AND expires_at > ?',
  );

  function keep({ user, method, path, key, fingerprint, at, expiresAt, answer }: Once): boolean {
    const { status, location, body } = answer;
    removeOver.run(user, method, path, key, at);
    return (
      insert.run(user, method, path, key, fingerprint, status, location ?? null, body, expiresAt).changes > 0
    );
  }

  return {
    keepAnswer: keep,
    /** Runs a write unless its key has a record, and records its answer if it had an effect. */
    once(once: Once, write: () => unknown): unknown {
      const { user, method, path, key, at, answer } = once;
      if (exists.get(user, method, path, key, at)) return KEY_USED;
      const outcome = write();
      if (hadEffect(outcome)) {
        // A create assigned this id.
        const location = answer.appendsId ? `${answer.location}${outcome}` : answer.location;
        keep({ ...once, answer: { ...answer, location } });
      }
      return outcome;
    },
  };
}

export function idempotencyReads(db: DatabaseSync, snapshot: Snapshot) {
  const find = db.prepare(`SELECT fingerprint, status, location, body
    FROM idempotency
    WHERE user = ? AND method = ? AND path = ? AND key = ? AND expires_at > ?`);
  return {
    keptAnswer: async (
      { user, method, path, key }: RequestKey,
      now: number,
    ): Promise<KeptRecord | undefined> =>
      snapshot.read(() => ifFound(find.get(user, method, path, key, now), toKeptRecord)),
  };
}
