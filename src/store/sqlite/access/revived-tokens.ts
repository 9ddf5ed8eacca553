import { DatabaseSync } from 'node:sqlite';
import { prepare } from '../engine/prepare.ts';
import { storeSchema } from '../files/inspect.ts';

/** A token that becomes valid again, or for longer, when a backup replaces the store. */
export type RevivedToken = { id: string; user: string; label: string };

export type Comparison = {
  /** Undefined when unknown: these are different stores, or one of them cannot be read. */
  revived: RevivedToken[] | undefined;
  /** Whether the store to be replaced can be read. */
  isReadable: boolean;
};

/**
 * Finds the tokens that are valid in the restored store, but revoked, rotated or removed in the current one.
 * @param before the current store; neither store has a write-ahead log
 */
export function compareTokens(before: string, restored: string, now: number): Comparison {
  const open: DatabaseSync[] = [];
  let isReadable = false;
  try {
    const opened = (path: string) => {
      const db = new DatabaseSync(path, { readOnly: true });
      open.push(db);
      return db;
    };
    const [old, next] = [opened(before), opened(restored)];
    const { applied } = storeSchema(old);
    const lives = applied >= FIRST_WITH_ACCESS ? lifeIn(old, now) : undefined;
    isReadable = true;
    if (lives === undefined || storeSchema(next).applied < FIRST_WITH_ACCESS || keyOf(old) !== keyOf(next)) {
      return { revived: undefined, isReadable };
    }
    const revived = goodIn(next, now).filter(({ id, until }) => lives(id) < until);
    return { revived: revived.map(({ id, user, label }) => ({ id, user, label })), isReadable };
  } catch {
    return { revived: undefined, isReadable };
  } finally {
    for (const db of open) db.close();
  }
}

/** The first schema version in which users can be disabled and tokens rotated. */
const FIRST_WITH_ACCESS = 3;

/** The same for a store and its backups. */
function keyOf(db: DatabaseSync): unknown {
  return db.prepare(`SELECT value FROM meta WHERE name = 'key'`).get()?.value;
}

/** `until`: in milliseconds; infinite for a token that does not expire. */
type GoodToken = RevivedToken & { until: number };

function goodIn(db: DatabaseSync, now: number): GoodToken[] {
  const good = prepare(db)`SELECT t.id, u.name AS user, t.label, t.expires_at AS until
    FROM tokens t
    JOIN users u ON u.id = t.user
    WHERE ${GOOD}
    ORDER BY t.id`;
  return good.all(now).map(({ id, user, label, until }) => ({
    id: String(id),
    user: String(user),
    label: String(label),
    until: endOf(until),
  }));
}

const GOOD = 't.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?) AND u.disabled_at IS NULL';

/** Until when a token is valid, by its id: -Infinity when it is revoked or expired, or it or its user is gone. */
function lifeIn(db: DatabaseSync, now: number): (id: string) => number {
  const live = prepare(db)`SELECT t.expires_at AS until
    FROM tokens t
    JOIN users u ON u.id = t.user
    WHERE ${GOOD} AND t.id = ?`;
  return (id) => {
    const found = live.get(now, id);
    return found ? endOf(found.until) : Number.NEGATIVE_INFINITY;
  };
}

function endOf(expiresAt: unknown): number {
  return expiresAt === null ? Number.POSITIVE_INFINITY : Number(expiresAt);
}
