import type {
  AccessStore,
  Asking,
  NewToken,
  TokenRefusal,
  TokenRotation,
  TokenRotationOutcome,
} from '../../../access/port.ts';
import { ifFound, tokensWith, toToken } from '../../rows.ts';
import { type Database, pathId, type Query, statement } from '../engine/database.ts';
import { LOCK_USERS } from '../engine/locks.ts';
import type { Run, Work } from '../engine/writer.ts';
import type { Announced } from '../replicas/hints.ts';
import { ensure } from './users.ts';

const INSERT = statement`INSERT INTO tokens (hash, id, user_id, label, scopes, bootstrap, created_at, expires_at)
  SELECT $1, $2, u.id, $3, $4, $5, $6, $7
  FROM (
    SELECT id
    FROM users
    WHERE name = $8 AND deleted_at IS NULL
    FOR NO KEY UPDATE
  ) u
  RETURNING 1`;

function insertValues({ hash, id, label, scopes, createdAt, expiresAt, user }: NewToken, bootstrap: boolean) {
  return [hash, id, label, scopes.join(' '), bootstrap, createdAt, expiresAt, user];
}

const IS_LIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)';

const COUNT = statement`SELECT count(*) FILTER (WHERE ${IS_LIVE}) AS live, count(*) AS count
  FROM tokens
  WHERE user_id = $1`;

const DROP_ENDED = statement`DELETE FROM tokens
  WHERE id IN (
    SELECT id
    FROM tokens
    WHERE user_id = $1 AND NOT (${IS_LIVE})
    ORDER BY id DESC
    OFFSET $3
  )`;

/**
 * Checks who asks for a token, whom nobody revokes until the end of the transaction, and removes ended tokens for which
 * there is no more room. The latter takes the access epoch, as others do after every lock on a token.
 */
async function makeRoom(
  query: Query,
  announced: Announced,
  { user, token, most, at, adds }: Asking & { at: number; adds: number },
): Promise<TokenRefusal | undefined> {
  // So that each counts the tokens before.
  await query(LOCK_USERS, [[user]]);
  const [asker] = token === undefined ? [] : await query(LOCK, [token, at]);
  if (token !== undefined && asker?.is_live !== true) return 'caller ended';
  const [found] = await query(COUNT, [user, at]);
  const live = Number(found?.live);
  if (live + adds > most) return 'full';
  // A statement that deletes nothing would change the access epoch, too.
  if (Number(found?.count) - live > most) {
    await query(DROP_ENDED, [user, at, most]);
    announced.access = true;
  }
  return undefined;
}

const LOCK_USER_OF = statement`SELECT 1
  FROM users
  WHERE id = (SELECT user_id FROM tokens WHERE id = $1)
  FOR NO KEY UPDATE`;

const LOCK = statement`SELECT user_id, bootstrap, replaced_by, ${IS_LIVE} AS is_live
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

function rotate(rotation: TokenRotation, asking?: Asking): Work<TokenRotationOutcome> {
  const { replacement, overlapUntil } = rotation;
  const { hash, createdAt: at, expiresAt } = replacement;
  const id = pathId(rotation.id);
  return async (query, announced) => {
    // The user before the token, in the order of the deletion of a user. Only the one who asks: the id may be another's.
    await (asking ? query(LOCK_USERS, [[asking.user]]) : query(LOCK_USER_OF, [id]));
    const [found] = await query(LOCK, [id, at]);
    if (!found || (asking && Number(found.user_id) !== asking.user)) return 'no token';
    if (found.bootstrap === true) return 'bootstrap';
    if (found.is_live !== true) return 'not live';
    if (typeof found.replaced_by === 'string') return { replacedBy: found.replaced_by };
    const adds = overlapUntil > at ? 1 : 0;
    const refusal = asking && (await makeRoom(query, announced, { ...asking, at, adds }));
    if (refusal) return refusal;
    await query(INSERT_REPLACEMENT, [hash, replacement.id, at, expiresAt, id]);
    await query(REPLACE, [overlapUntil, replacement.id, id]);
    announced.access = true;
    return 'rotated';
  };
}

const REVOKE = statement`UPDATE tokens
  SET revoked_at = coalesce(revoked_at, $2)
  WHERE id = $1`;

/** A locked one is just revoked or rotated, and then looked up anew, or another replica records the same. */
const RECORD_USES = statement`UPDATE tokens t
  SET last_used_on = u.day
  FROM (
    SELECT id, day
    FROM tokens
    JOIN json_to_recordset($1) AS used(id text, day text) USING (id)
    WHERE last_used_on IS NULL OR last_used_on < day
    FOR NO KEY UPDATE OF tokens SKIP LOCKED
  ) u
  WHERE t.id = u.id`;

/** Replicas that start together set the token one after the other. */
const LOCK_OPERATOR = statement`SELECT 1 FROM users WHERE id = $1 FOR UPDATE`;

/** A token of this hash that is no live bootstrap token of these scopes, and other bootstrap tokens of the user. */
const OUTDATED = `(bootstrap AND user_id = $1 AND hash <> $2)
      OR (hash = $2 AND (NOT bootstrap OR revoked_at IS NOT NULL OR scopes <> $3))`;

const HAS_OUTDATED = statement`SELECT 1
  FROM tokens
  WHERE ${OUTDATED}
  LIMIT 1`;

const DROP_OUTDATED = statement`DELETE FROM tokens
  WHERE ${OUTDATED}`;

const HAS_HASH = statement`SELECT 1 FROM tokens WHERE hash = $1`;

function replaceBootstrap(token: NewToken): Work<void> {
  return async (query, announced) => {
    const { id } = await ensure(query, { name: token.user, at: token.createdAt });
    await query(LOCK_OPERATOR, [id]);
    // A statement that deletes nothing would change the access epoch, too.
    const values = [id, token.hash, token.scopes.join(' ')];
    if ((await query(HAS_OUTDATED, values)).length > 0) {
      await query(DROP_OUTDATED, values);
      announced.access = true;
    }
    if ((await query(HAS_HASH, [token.hash])).length > 0) return;
    await query(INSERT, insertValues(token, true));
  };
}

const TOKENS = tokensWith('user_id');

const ALL = statement`${TOKENS}
  ORDER BY t.created_at, t.id`;

const OF_USER = statement`${TOKENS}
  WHERE t.user_id = $1
  ORDER BY t.created_at, t.id`;

const FIND = statement`${TOKENS}
  WHERE t.hash = $1`;

export function tokenStore({ read }: Pick<Database, 'read'>, run: Run) {
  return {
    tokens: async (user) => (await (user === undefined ? read(ALL) : read(OF_USER, [user]))).map(toToken),
    findToken: async (hash) => ifFound((await read(FIND, [hash]))[0], toToken),
    createToken: (token, asking, caller) =>
      run(async (query, announced) => {
        const refusal =
          asking && (await makeRoom(query, announced, { ...asking, at: token.createdAt, adds: 1 }));
        if (refusal) return refusal;
        return (await query(INSERT, insertValues(token, false))).length > 0 ? 'created' : 'no user';
      }, caller),
    rotateToken: (rotation, asking, caller) => run(rotate(rotation, asking), caller),
    revokeToken: (id, at, user, caller) =>
      run(async (query, announced) => {
        const values = [pathId(id), at];
        const [found] = await query(LOCK, values);
        const isTheirs = user === undefined || (Number(found?.user_id) === user && found?.is_live === true);
        // A statement that revokes nothing would change the access epoch, too.
        if (!found || !isTheirs) return false;
        await query(REVOKE, values);
        announced.access = true;
        return true;
      }, caller),
    async recordUses(uses) {
      const rows = JSON.stringify(uses.map(({ id, on }) => ({ id, day: on })));
      await run((query) => query(RECORD_USES, [rows]));
    },
    setBootstrapToken: (token) => run(replaceBootstrap(token)),
  } satisfies Partial<AccessStore>;
}
