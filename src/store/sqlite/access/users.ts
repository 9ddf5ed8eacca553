import type { DatabaseSync } from 'node:sqlite';
import type { Belongings, DisablingOutcome, User } from '../../../access/port.ts';
import { USER_DISABLED } from '../../../access/users.ts';
import type { Webhook, WebhookChange } from '../../../webhooks/port.ts';
import { belongingsOf, ifFound, toBelongings, toUser, USER_COLUMNS } from '../../rows.ts';
import type { OutboxWrites } from '../deliveries/outbox.ts';
import type { Snapshot } from '../engine/snapshot.ts';

function userNamed(db: DatabaseSync): (name: string) => User | undefined {
  const find = db.prepare(`SELECT ${USER_COLUMNS} FROM users WHERE name = ?`);
  return (name) => ifFound(find.get(name), toUser);
}

/** Creates a user with an id that no user ever had. */
export const INSERT_USER = `INSERT INTO users (id, name, created_at)
     SELECT 1 + max(coalesce((SELECT max(id) FROM users), 0), value), ?, ?
     FROM meta
     WHERE name = 'last_user'
     ON CONFLICT (name) DO NOTHING`;

type UserWriteParts = {
  outbox: OutboxWrites;
  changeWebhook(owner: number, id: string, change: WebhookChange): Webhook | undefined;
  deleteWebhook(owner: number, id: string): boolean;
  removeSharesOf(user: number): boolean;
  forgetUsers(): void;
};

export function userWrites(db: DatabaseSync, parts: UserWriteParts) {
  const insert = db.prepare(`${INSERT_USER} RETURNING ${USER_COLUMNS}`);
  const findUser = userNamed(db);
  const setDisabled = db.prepare('UPDATE users SET disabled_at = ? WHERE id = ?');
  const setDeleted = db.prepare('UPDATE users SET deleted_at = ?, name = NULL WHERE id = ?');
  const dropTokens = db.prepare('DELETE FROM tokens WHERE user = ?');
  const webhooksOf = db.prepare(`SELECT id FROM webhooks WHERE owner = ? AND status <> 'deleted'`);
  const disableWebhooks = db.prepare(`UPDATE webhooks
    SET status = 'disabled', disabled_reason = ?
    WHERE owner = ? AND status = 'enabled'
    RETURNING id`);
  // Those disabled by their owner or receiver stay disabled.
  const disabledWithUser = db.prepare(`SELECT id
    FROM webhooks
    WHERE owner = ? AND status = 'disabled' AND disabled_reason = ?`);

  return {
    createUser: ({ name, at }: { name: string; at: number }): User | undefined =>
      ifFound(insert.get(name, at), toUser),
    setUserDisabled(name: string, isDisabled: boolean, at: number): DisablingOutcome {
      const user = findUser(name);
      if (!user) return 'no user';
      if ((user.disabledAt !== undefined) === isDisabled) return 'as before';
      setDisabled.run(isDisabled ? at : null, user.id);
      parts.forgetUsers();
      if (isDisabled) {
        for (const { id } of disableWebhooks.all(USER_DISABLED, user.id))
          parts.outbox.webhookChanged(String(id));
      } else {
        for (const { id } of disabledWithUser.all(user.id, USER_DISABLED))
          parts.changeWebhook(user.id, String(id), { at, enabled: true });
      }
      return 'changed';
    },
    deleteUser(name: string, at: number): boolean {
      const user = findUser(name);
      if (!user) return false;
      setDeleted.run(at, user.id);
      parts.forgetUsers();
      dropTokens.run(user.id);
      for (const { id } of webhooksOf.all(user.id)) parts.deleteWebhook(user.id, String(id));
      parts.removeSharesOf(user.id);
      return true;
    },
  };
}

/** Whether users are active, looked up once per transaction. */
export function activeUsers(db: DatabaseSync) {
  const query = db.prepare('SELECT 1 FROM users WHERE id = ? AND disabled_at IS NULL AND deleted_at IS NULL');
  const known = new Map<number, boolean>();
  const find = (user: number) => query.get(user) !== undefined;
  return {
    isActive: (user: number) => known.getOrInsertComputed(user, find),
    forget: () => known.clear(),
  };
}

export function userReads(db: DatabaseSync, snapshot: Snapshot) {
  const all = db.prepare(`SELECT ${USER_COLUMNS} FROM users WHERE deleted_at IS NULL ORDER BY name`);
  const named = userNamed(db);
  const counts = db.prepare(`${belongingsOf('user')} WHERE u.name = ?`);
  return {
    user: async (name: string): Promise<User | undefined> => snapshot.read(() => named(name)),
    users: async (): Promise<User[]> => snapshot.read(() => all.all().map(toUser)),
    belongings: async (name: string): Promise<Belongings | undefined> =>
      snapshot.read(() => ifFound(counts.get(name), toBelongings)),
  };
}
