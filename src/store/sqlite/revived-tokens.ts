import { DatabaseSync } from 'node:sqlite';

/** A token that works again once a backup takes the place of a store. */
export type RevivedToken = { id: string; user: string; label: string };

/**
 * Tokens that are good in the store that is about to be restored, and are revoked or gone in the one before it. None
 * when the two have nothing to do with each other, or one of them cannot be read.
 *
 * @param before neither has a write-ahead log
 */
export function revivedTokens(before: string, restored: string, now: number): RevivedToken[] {
  const open: DatabaseSync[] = [];
  try {
    for (const path of [before, restored]) open.push(new DatabaseSync(path, { readOnly: true }));
    const [old, next] = open;
    if (!old || !next || keyOf(old) !== keyOf(next)) return [];
    const ended = endedIn(old, now);
    return goodIn(next, now).filter(({ id }) => ended(id));
  } catch {
    // A store that is damaged, or of an older schema: what cannot be told here stands in the guide.
    return [];
  } finally {
    for (const db of open) db.close();
  }
}

/** A store and its backups have the same. */
function keyOf(db: DatabaseSync): unknown {
  return db.prepare(`SELECT value FROM meta WHERE name = 'key'`).get()?.value;
}

function goodIn(db: DatabaseSync, now: number): RevivedToken[] {
  const good = db.prepare(
    `SELECT t.id, u.name AS user, t.label
     FROM tokens t
     JOIN users u ON u.id = t.user
     WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?) AND u.disabled_at IS NULL
     ORDER BY t.id`,
  );
  return good.all(now).map(({ id, user, label }) => ({
    id: String(id),
    user: String(user),
    label: String(label),
  }));
}

/** Whether a token is revoked, or gone with its user. */
function endedIn(db: DatabaseSync, now: number): (id: string) => boolean {
  const live = db.prepare(
    `SELECT 1
     FROM tokens t
     JOIN users u ON u.id = t.user
     WHERE t.id = ? AND (t.revoked_at IS NULL OR t.revoked_at > ?) AND u.disabled_at IS NULL`,
  );
  return (id) => live.get(id, now) === undefined;
}
