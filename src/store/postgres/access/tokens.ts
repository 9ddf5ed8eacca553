import type { NewToken, StoredToken, TokenRotation, TokenRotationOutcome } from '../../../access/port.ts';
import { toToken } from '../../rows.ts';
import type { Database } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';
import type { Work } from '../engine/writer.ts';
import { ensure } from './users.ts';

const INSERT = statement`INSERT INTO tokens (hash, id, user_id, label, scopes, bootstrap, created_at, expires_at)
  SELECT $1, $2, u.id, $3, $4, $5, $6, $7
  FROM (
    SELECT id
    FROM users
    WHERE name = $8 AND deleted_at IS NULL
    FOR SHARE
  ) u
  RETURNING 1`;

function insertValues({ hash, id, label, scopes, createdAt, expiresAt, user }: NewToken, bootstrap: boolean) {
  return [hash, id, label, scopes.join(' '), bootstrap, createdAt, expiresAt, user];
}

export function createToken(token: NewToken): Work<boolean> {
  return async (query) => (await query(INSERT, insertValues(token, false))).length > 0;
}

/** Locks the user before the token: a deletion of the user locks in the same order. */
const LOCK_USER = statement`SELECT 1
  FROM users
  WHERE id = (SELECT user_id FROM tokens WHERE id = $1)
  FOR SHARE`;

const LOCK = statement`SELECT bootstrap, replaced_by, revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) AS is_live
  FROM tokens
  WHERE id = $1
  FOR UPDATE`;

const INSERT_REPLACEMENT = statement`INSERT INTO tokens (hash, id, user_id, label, scopes, bootstrap, created_at, expires_at)
  SELECT $1, $2, user_id, label, scopes, false, $3, $4
  FROM tokens
  WHERE id = $5`;

// `least` ignores NULL: a token without an expiry ends with the overlap.
const REPLACE = statement`UPDATE tokens
  SET expires_at = least(expires_at, $1), replaced_by = $2
  WHERE id = $3`;

export function rotateToken({ id, replacement, overlapUntil }: TokenRotation): Work<TokenRotationOutcome> {
  return async (query, announced) => {
    const { hash, createdAt, expiresAt } = replacement;
    await query(LOCK_USER, [id]);
    const [found] = await query(LOCK, [id, createdAt]);
    if (!found) return 'no token';
    if (found.bootstrap === true) return 'bootstrap';
    if (found.is_live !== true) return 'not live';
    if (typeof found.replaced_by === 'string') return { replacedBy: found.replaced_by };
    await query(INSERT_REPLACEMENT, [hash, replacement.id, createdAt, expiresAt, id]);
    await query(REPLACE, [overlapUntil, replacement.id, id]);
    announced.access = true;
    return 'rotated';
  };
}

const REVOKE = statement`UPDATE tokens
  SET revoked_at = coalesce(revoked_at, $1)
  WHERE id = $2
  RETURNING 1`;

/** False if the token does not exist. Revoking it again keeps the first time. */
export function revokeToken(id: string, at: number): Work<boolean> {
  return async (query, announced) => {
    const isThere = (await query(REVOKE, [at, id])).length > 0;
    // The statement's trigger raises the epoch even if the token does not exist.
    announced.access = true;
    return isThere;
  };
}

/** Replicas that start together set the token one after another. */
const LOCK_OPERATOR = statement`SELECT 1 FROM users WHERE id = $1 FOR UPDATE`;

/** A token with this hash that is not a live bootstrap token, and other bootstrap tokens of the user. */
const OUTDATED = `(bootstrap AND user_id = $1 AND hash <> $2)
      OR (hash = $2 AND (NOT bootstrap OR revoked_at IS NOT NULL))`;

const HAS_OUTDATED = statement`SELECT 1
  FROM tokens
  WHERE ${OUTDATED}
  LIMIT 1`;

const DROP_OUTDATED = statement`DELETE FROM tokens
  WHERE ${OUTDATED}`;

const HAS_HASH = statement`SELECT 1 FROM tokens WHERE hash = $1`;

export function setBootstrapToken(token: NewToken): Work<void> {
  return async (query, announced) => {
    const { id } = await ensure(query, { name: token.user, at: token.createdAt });
    await query(LOCK_OPERATOR, [id]);
    // Even a statement that deletes nothing would change the access epoch.
    if ((await query(HAS_OUTDATED, [id, token.hash])).length > 0) {
      await query(DROP_OUTDATED, [id, token.hash]);
      announced.access = true;
    }
    if ((await query(HAS_HASH, [token.hash])).length > 0) return;
    await query(INSERT, insertValues(token, true));
  };
}

const TOKENS = `SELECT t.id, t.user_id AS "user", u.name, u.disabled_at, t.label, t.scopes, t.created_at, t.expires_at,
      t.revoked_at, t.replaced_by, t.bootstrap
    FROM tokens t
    JOIN users u ON u.id = t.user_id`;

const ALL = statement`${TOKENS}
  ORDER BY t.created_at, t.id`;

const FIND = statement`${TOKENS}
  WHERE t.hash = $1`;

export function tokenReads({ read }: Pick<Database, 'read'>) {
  return {
    tokens: async (): Promise<StoredToken[]> => (await read(ALL)).map(toToken),
    async findToken(hash: string): Promise<StoredToken | undefined> {
      const [row] = await read(FIND, [hash]);
      return row && toToken(row);
    },
  };
}
