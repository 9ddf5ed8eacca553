import type { DatabaseSync } from 'node:sqlite';
import type { NewToken, StoredToken, TokenRotation, TokenRotationOutcome } from '../../../access/port.ts';
import { toToken } from '../../rows.ts';
import { prepare } from '../engine/prepare.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { INSERT_USER } from './users.ts';

export function tokenWrites(db: DatabaseSync) {
  const makeUser = db.prepare(INSERT_USER);
  const insertToken = prepare(db)`INSERT INTO tokens
    (hash, id, user, label, scopes, bootstrap, created_at, expires_at)
    SELECT ?, ?, id, ?, ?, ?, ?, ?
    FROM users
    WHERE name = ?`;
  const revoke = db.prepare('UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?');
  const dropOtherBootstrap = prepare(db)`DELETE FROM tokens
    WHERE bootstrap = 1
      AND user = (SELECT id FROM users WHERE name = ?)
      AND hash <> ?`;
  const liveBootstrap = db.prepare(
    'SELECT 1 FROM tokens WHERE hash = ? AND bootstrap = 1 AND revoked_at IS NULL',
  );
  const dropToken = db.prepare('DELETE FROM tokens WHERE hash = ?');

  function createToken(token: NewToken, bootstrap: 0 | 1): boolean {
    const { hash, id, label, createdAt, expiresAt, user } = token;
    const scopes = token.scopes.join(' ');
    return (
      insertToken.run(hash, id, label, scopes, bootstrap, createdAt, expiresAt ?? null, user).changes > 0
    );
  }

  return {
    createToken: (token: NewToken) => createToken(token, 0),
    revokeToken: (id: string, at: number) => revoke.run(at, id).changes > 0,
    rotateToken: rotations(db),
    setBootstrapToken(token: NewToken): void {
      makeUser.run(token.user, token.createdAt);
      dropOtherBootstrap.run(token.user, token.hash);
      if (liveBootstrap.get(token.hash)) return;
      dropToken.run(token.hash);
      createToken(token, 1);
    },
  };
}

function rotations(db: DatabaseSync) {
  const live = prepare(db)`SELECT 1
    FROM tokens
    WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`;
  const insertReplacement = prepare(db)`INSERT INTO tokens
    (hash, id, user, label, scopes, bootstrap, created_at, expires_at)
    SELECT ?, ?, user, label, scopes, 0, ?, ?
    FROM tokens
    WHERE id = ?`;
  const replace = prepare(db)`UPDATE tokens
    SET expires_at = min(coalesce(expires_at, ?1), ?1), replaced_by = ?2
    WHERE id = ?3`;
  const find = db.prepare('SELECT bootstrap, replaced_by FROM tokens WHERE id = ?');

  return ({ id, replacement, overlapUntil }: TokenRotation): TokenRotationOutcome => {
    const found = find.get(id);
    if (!found) return 'no token';
    if (found.bootstrap === 1) return 'bootstrap';
    const { hash, createdAt, expiresAt } = replacement;
    if (!live.get(id, createdAt)) return 'not live';
    if (typeof found.replaced_by === 'string') return { replacedBy: found.replaced_by };
    insertReplacement.run(hash, replacement.id, createdAt, expiresAt ?? null, id);
    replace.run(overlapUntil, replacement.id, id);
    return 'rotated';
  };
}

const TOKENS = `SELECT t.id, t.user, u.name, u.disabled_at, t.label, t.scopes, t.created_at, t.expires_at, t.revoked_at,
    t.replaced_by, t.bootstrap
  FROM tokens t
  JOIN users u ON u.id = t.user`;

export function tokenReads(db: DatabaseSync, snapshot: Snapshot) {
  const tokens = db.prepare(`${TOKENS} ORDER BY t.created_at, t.id`);
  const token = db.prepare(`${TOKENS} WHERE t.hash = ?`);
  return {
    tokens: async (): Promise<StoredToken[]> => snapshot.read(() => tokens.all().map(toToken)),
    async findToken(hash: string): Promise<StoredToken | undefined> {
      const row = snapshot.read(() => token.get(hash));
      return row && toToken(row);
    },
  };
}
