import type { DatabaseSync } from 'node:sqlite';
import type {
  Asking,
  NewToken,
  StoredToken,
  TokenCreationOutcome,
  TokenRefusal,
  TokenRotation,
  TokenRotationOutcome,
  TokenUse,
} from '../../../access/port.ts';
import { ifFound, tokensWith, toToken } from '../../rows.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { INSERT_USER } from './users.ts';

export function tokenWrites(db: DatabaseSync) {
  const makeUser = db.prepare(INSERT_USER);
  const insertToken = db.prepare(`INSERT INTO tokens
    (hash, id, user, label, scopes, bootstrap, created_at, expires_at)
    SELECT ?, ?, id, ?, ?, ?, ?, ?
    FROM users
    WHERE name = ?`);
  const revoke = db.prepare(`UPDATE tokens
    SET revoked_at = coalesce(revoked_at, ?2)
    WHERE id = ?1 AND (?3 IS NULL OR user = ?3 AND ${IS_LIVE})`);
  const recordUse = db.prepare(`UPDATE tokens
    SET last_used_on = ?1
    WHERE id = ?2 AND (last_used_on IS NULL OR last_used_on < ?1)`);
  const dropOtherBootstrap = db.prepare(`DELETE FROM tokens
    WHERE bootstrap = 1
      AND user = (SELECT id FROM users WHERE name = ?)
      AND hash <> ?`);
  const liveBootstrap = db.prepare(`SELECT 1
    FROM tokens
    WHERE hash = ? AND bootstrap = 1 AND revoked_at IS NULL AND scopes = ?`);
  const dropToken = db.prepare('DELETE FROM tokens WHERE hash = ?');
  const makeRoom = roomFor(db);

  function insert(token: NewToken, bootstrap: 0 | 1): boolean {
    const { hash, id, label, createdAt, expiresAt, user } = token;
    const scopes = token.scopes.join(' ');
    return (
      insertToken.run(hash, id, label, scopes, bootstrap, createdAt, expiresAt ?? null, user).changes > 0
    );
  }

  return {
    createToken(token: NewToken, asking?: Asking): TokenCreationOutcome {
      const refusal = asking && makeRoom(asking, token.createdAt);
      return refusal ?? (insert(token, 0) ? 'created' : 'no user');
    },
    revokeToken: (id: string, at: number, user?: number) => revoke.run(id, at, user ?? null).changes > 0,
    rotateToken: rotations(db, makeRoom),
    recordUses(uses: readonly TokenUse[]): void {
      for (const { id, on } of uses) recordUse.run(on, id);
    },
    setBootstrapToken(token: NewToken): void {
      makeUser.run(token.user, token.createdAt);
      dropOtherBootstrap.run(token.user, token.hash);
      if (liveBootstrap.get(token.hash, token.scopes.join(' '))) return;
      dropToken.run(token.hash);
      insert(token, 1);
    },
  };
}

/** At the time that the second parameter gives. */
const IS_LIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)';

/** Checks who asks for a token, and removes ended tokens for which there is no more room. */
function roomFor(db: DatabaseSync) {
  const asker = db.prepare(`SELECT 1 FROM tokens WHERE id = ?1 AND ${IS_LIVE}`);
  const count = db.prepare(`SELECT count(*) AS live FROM tokens WHERE user = ?1 AND ${IS_LIVE}`);
  const dropEnded = db.prepare(`DELETE FROM tokens
    WHERE id IN (
      SELECT id
      FROM tokens
      WHERE user = ?1 AND NOT (${IS_LIVE})
      ORDER BY id DESC
      LIMIT -1 OFFSET ?3
    )`);

  return ({ user, token, most }: Asking, at: number, adds = 1): TokenRefusal | undefined => {
    if (token !== undefined && !asker.get(token, at)) return 'caller ended';
    if (Number(count.get(user, at)?.live) + adds > most) return 'full';
    dropEnded.run(user, at, most);
    return undefined;
  };
}

function rotations(db: DatabaseSync, makeRoom: ReturnType<typeof roomFor>) {
  const live = db.prepare(`SELECT 1 FROM tokens WHERE id = ?1 AND ${IS_LIVE}`);
  const insertReplacement = db.prepare(`INSERT INTO tokens
    (hash, id, user, label, scopes, bootstrap, created_at, expires_at)
    SELECT ?, ?, user, label, scopes, 0, ?, ?
    FROM tokens
    WHERE id = ?`);
  const replace = db.prepare(`UPDATE tokens
    SET expires_at = min(coalesce(expires_at, ?1), ?1), replaced_by = ?2
    WHERE id = ?3`);
  const find = db.prepare('SELECT user, bootstrap, replaced_by FROM tokens WHERE id = ?');

  return ({ id, replacement, overlapUntil }: TokenRotation, asking?: Asking): TokenRotationOutcome => {
    const found = find.get(id);
    if (!found || (asking && found.user !== asking.user)) return 'no token';
    if (found.bootstrap === 1) return 'bootstrap';
    const { hash, createdAt, expiresAt } = replacement;
    if (!live.get(id, createdAt)) return 'not live';
    if (typeof found.replaced_by === 'string') return { replacedBy: found.replaced_by };
    const refusal = asking && makeRoom(asking, createdAt, overlapUntil > createdAt ? 1 : 0);
    if (refusal) return refusal;
    insertReplacement.run(hash, replacement.id, createdAt, expiresAt ?? null, id);
    replace.run(overlapUntil, replacement.id, id);
    return 'rotated';
  };
}

const TOKENS = tokensWith('user');

export function tokenReads(db: DatabaseSync, snapshot: Snapshot) {
  const tokens = db.prepare(`${TOKENS} ORDER BY t.created_at, t.id`);
  const ofUser = db.prepare(`${TOKENS} WHERE t.user = ? ORDER BY t.created_at, t.id`);
  const token = db.prepare(`${TOKENS} WHERE t.hash = ?`);
  return {
    tokens: async (user?: number): Promise<StoredToken[]> =>
      snapshot.read(() => (user === undefined ? tokens.all() : ofUser.all(user)).map(toToken)),
    findToken: async (hash: string): Promise<StoredToken | undefined> =>
      snapshot.read(() => ifFound(token.get(hash), toToken)),
  };
}
