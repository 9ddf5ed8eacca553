import { DatabaseSync } from 'node:sqlite';
import { toRecord } from '../../rows.ts';
import { storeSchema } from '../files/inspect.ts';

/** A token that becomes valid again, or for longer, when a backup replaces the store. */
type RevivedToken = { id: string; user: string; label: string };

export type Comparison = {
  /** Undefined when unknown: these are different stores, or one of them cannot be read. */
  revived: RevivedToken[] | undefined;
  /** Whether the store to be replaced can be read, and so can be restored. */
  isReadable: boolean;
};

/**
 * Finds the tokens that are valid in the restored store, but revoked, rotated or removed in the current one.
 * @param before the current store; neither store has a write-ahead log
 */
export function compareTokens(before: string, restored: string, now: number): Comparison {
  let isReadable = false;
  try {
    using old = new DatabaseSync(before, { readOnly: true });
    using next = new DatabaseSync(restored, { readOnly: true });
    const { applied } = storeSchema(old);
    isReadable = true;
    const haveAccess = Math.min(applied, storeSchema(next).applied) >= FIRST_WITH_ACCESS;
    if (!haveAccess || keyOf(old) !== keyOf(next)) return { revived: undefined, isReadable };
    next.prepare('ATTACH ? AS replaced').run(before);
    return { revived: revivedIn(next, now), isReadable };
  } catch {
    return { revived: undefined, isReadable };
  }
}

/** The first schema version in which users can be disabled and tokens rotated. */
const FIRST_WITH_ACCESS = 3;

/** The same for a store and its backups. */
function keyOf(db: DatabaseSync): unknown {
  return db.prepare(`SELECT value FROM meta WHERE name = 'key'`).get()?.value;
}

/** @param db the restored store, with the current one as `replaced` */
function revivedIn(db: DatabaseSync, now: number): RevivedToken[] {
  const revived = db.prepare(`SELECT t.id, u.name AS user, t.label
    FROM tokens t
    JOIN users u ON u.id = t.user
    WHERE ${isValid('t', 'u')} AND NOT EXISTS (
      SELECT 1
      FROM replaced.tokens r
      JOIN replaced.users v ON v.id = r.user
      WHERE r.id = t.id AND ${isValid('r', 'v')} AND (r.expires_at IS NULL OR r.expires_at >= t.expires_at)
    )
    ORDER BY t.id`);
  return revived.all(now, now).map(toRecord<RevivedToken>);
}

const isValid = (token: string, user: string) =>
  `${token}.revoked_at IS NULL AND (${token}.expires_at IS NULL OR ${token}.expires_at > ?) AND ${user}.disabled_at IS NULL`;
