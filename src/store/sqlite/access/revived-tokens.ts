import { DatabaseSync } from 'node:sqlite';
import { storeSchema } from '../files/inspect.ts';

/** A token that works again, or for longer, once a backup takes the place of a store. */
export type RevivedToken = { id: string; user: string; label: string };

export type Comparison = {
  /** Undefined when it cannot be told: the two are not of one store, or one of them cannot be read for it. */
  revived: RevivedToken[] | undefined;
  /** Whether the store before is one that can be read. */
  isReadable: boolean;
};

/**
 * Compares the store that is about to be restored with the one before it: tokens that are good there, and were revoked
 * here, or rotated, or are gone.
 *
 * @param before neither has a write-ahead log
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

/** The schema by which users are disabled and tokens rotated. */
const FIRST_WITH_ACCESS = 3;

/** A store and its backups have the same. */
function keyOf(db: DatabaseSync): unknown {
  return db.prepare(`SELECT value FROM meta WHERE name = 'key'`).get()?.value;
}

/** `until`: milliseconds; without an end it is infinite. */
type GoodToken = RevivedToken & { until: number };

function goodIn(db: DatabaseSync, now: number): GoodToken[] {
  const good = db.prepare(
    `SELECT t.id, u.name AS user, t.label, t.expires_at AS until
     FROM tokens t
     JOIN users u ON u.id = t.user
     WHERE ${GOOD}
     ORDER BY t.id`,
  );
  return good.all(now).map(({ id, user, label, until }) => ({
    id: String(id),
    user: String(user),
    label: String(label),
    until: endOf(until),
  }));
}

const GOOD = 't.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?) AND u.disabled_at IS NULL';

/** Until when a token is good, by its id: not at all when it is revoked, has expired, or is gone with its user. */
function lifeIn(db: DatabaseSync, now: number): (id: string) => number {
  const live = db.prepare(
    `SELECT t.expires_at AS until
     FROM tokens t
     JOIN users u ON u.id = t.user
     WHERE ${GOOD} AND t.id = ?`,
  );
  return (id) => {
    const found = live.get(now, id);
    return found ? endOf(found.until) : Number.NEGATIVE_INFINITY;
  };
}

function endOf(expiresAt: unknown): number {
  return expiresAt === null ? Number.POSITIVE_INFINITY : Number(expiresAt);
}
