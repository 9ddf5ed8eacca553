import type { DatabaseSync } from 'node:sqlite';
import type { NewToken, StoredToken, User } from '../../access/port.ts';
import { isScope } from '../../access/scopes.ts';
import type { Snapshot } from './snapshot.ts';

/** The statements that write users and tokens, for the connection that writes. */
export function accessWrites(db: DatabaseSync) {
  const insertUser = db.prepare(
    `INSERT INTO users (name, created_at)
     VALUES (?, ?)
     ON CONFLICT DO NOTHING
     RETURNING id`,
  );
  const insertToken = db.prepare(
    `INSERT INTO tokens (hash, id, user, label, scopes, bootstrap, created_at, expires_at)
     SELECT ?, ?, id, ?, ?, ?, ?, ?
     FROM users
     WHERE name = ?`,
  );
  const revoke = db.prepare('UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?');
  const dropOtherBootstrap = db.prepare(
    `DELETE FROM tokens
     WHERE bootstrap = 1
       AND user = (SELECT id FROM users WHERE name = ?)
       AND hash <> ?`,
  );
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
    createUser({ name, at }: { name: string; at: number }): User | undefined {
      const row = insertUser.get(name, at);
      return row && { id: Number(row.id), name, createdAt: at };
    },
    createToken: (token: NewToken) => createToken(token, 0),
    revokeToken: (id: string, at: number) => revoke.run(at, id).changes > 0,
    setBootstrapToken(token: NewToken): void {
      insertUser.get(token.user, token.createdAt);
      dropOtherBootstrap.run(token.user, token.hash);
      if (liveBootstrap.get(token.hash)) return;
      dropToken.run(token.hash);
      createToken(token, 1);
    },
  };
}

const TOKENS = `SELECT t.id, t.user, u.name, t.label, t.scopes, t.created_at, t.expires_at, t.revoked_at
  FROM tokens t
  JOIN users u ON u.id = t.user`;

/** The queries that read users and tokens. */
export function accessReads(db: DatabaseSync, snapshot: Snapshot) {
  const users = db.prepare('SELECT id, name, created_at FROM users ORDER BY name');
  const tokens = db.prepare(`${TOKENS} ORDER BY t.created_at, t.id`);
  const token = db.prepare(`${TOKENS} WHERE t.hash = ?`);
  const epoch = db.prepare(`SELECT value FROM meta WHERE name = 'access_epoch'`);
  const known = { generation: -1, epoch: -1 };

  return {
    users: (): User[] =>
      snapshot.read(() =>
        users.all().map((row) => ({
          id: Number(row.id),
          name: String(row.name),
          createdAt: Number(row.created_at),
        })),
      ),
    tokens: (): StoredToken[] => snapshot.read(() => tokens.all().map(toToken)),
    findToken(hash: string): StoredToken | undefined {
      const row = snapshot.read(() => token.get(hash));
      return row && toToken(row);
    },
    /** One look at the database for each snapshot. */
    accessEpoch: (): number =>
      snapshot.read(() => {
        if (known.generation !== snapshot.generation()) {
          known.generation = snapshot.generation();
          known.epoch = Number(epoch.get()?.value);
        }
        return known.epoch;
      }),
  };
}

function toToken(row: Record<string, unknown>): StoredToken {
  return {
    id: String(row.id),
    user: { id: Number(row.user), name: String(row.name) },
    label: String(row.label),
    scopes: String(row.scopes).split(' ').filter(isScope),
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at === null ? undefined : Number(row.expires_at),
    revokedAt: row.revoked_at === null ? undefined : Number(row.revoked_at),
  };
}
