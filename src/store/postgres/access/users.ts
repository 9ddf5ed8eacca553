import type { AccessStore, User } from '../../../access/port.ts';
import { belongingsOf, ifFound, toBelongings, toUser, USER_COLUMNS } from '../../rows.ts';
import { deleteWebhooksOf, disableWebhooksOf, enableWebhooksOf } from '../deliveries/webhooks.ts';
import { type Database, type Query, type Row, statement } from '../engine/database.ts';
import type { Run } from '../engine/writer.ts';
import { removeSharesOf } from './shares.ts';

const FIND = statement`SELECT ${USER_COLUMNS}
  FROM users
  WHERE name = $1 AND deleted_at IS NULL`;

/** Uses no number of the sequence if the name is taken, unless others create the same user concurrently. */
const INSERT = statement`INSERT INTO users (name, created_at)
  SELECT $1, $2
  WHERE NOT EXISTS (SELECT 1 FROM users WHERE name = $1)
  ON CONFLICT (name) DO NOTHING
  RETURNING ${USER_COLUMNS}`;

/** Writes for the user also lock the row, so they run before or after the holder of this lock. */
const LOCK = statement`${FIND.text}
  FOR UPDATE`;

const SET_DISABLED = statement`UPDATE users SET disabled_at = $1 WHERE id = $2`;

const SET_DELETED = statement`UPDATE users
  SET deleted_at = $1, deleted_tx = pg_current_xact_id(), name = NULL
  WHERE id = $2`;

const DROP_TOKENS = statement`DELETE FROM tokens WHERE user_id = $1`;

/** Returns the user of this name, created if missing, within a transaction. */
export async function ensure(query: Query, { name, at }: { name: string; at: number }): Promise<User> {
  const find = async () => firstUser(await query(FIND, [name]));
  // Someone else may create the user between the first two.
  const user = (await find()) ?? firstUser(await query(INSERT, [name, at])) ?? (await find());
  if (!user) throw new Error('the user does not exist and could not be created');
  return user;
}

const ALL = statement`SELECT ${USER_COLUMNS}
  FROM users
  WHERE deleted_at IS NULL
  ORDER BY name`;

const BELONGINGS = statement`${belongingsOf('user_id')}
  WHERE u.name = $1 AND u.deleted_at IS NULL`;

export function userStore({ read }: Pick<Database, 'read'>, run: Run) {
  return {
    users: async () => (await read(ALL)).map(toUser),
    user: async (name) => firstUser(await read(FIND, [name])),
    belongings: async (name) => ifFound((await read(BELONGINGS, [name]))[0], toBelongings),
    createUser: ({ name, at }) => run(async (query) => firstUser(await query(INSERT, [name, at]))),
    setUserDisabled: (name, isDisabled, at) =>
      run(async (query, announced) => {
        const user = firstUser(await query(LOCK, [name]));
        if (!user) return 'no user';
        if ((user.disabledAt !== undefined) === isDisabled) return 'as before';
        await query(SET_DISABLED, [isDisabled ? at : null, user.id]);
        announced.access = true;
        if (isDisabled) await disableWebhooksOf(user.id, query, announced);
        else await enableWebhooksOf(user.id, at, query, announced);
        return 'changed';
      }),
    /** Plants and events follow later. */
    deleteUser: (name, at) =>
      run(async (query, announced) => {
        const user = firstUser(await query(LOCK, [name]));
        if (!user) return false;
        // First, because revoking a token locks it before the access epoch, which every other statement here locks.
        await query(DROP_TOKENS, [user.id]);
        await query(SET_DELETED, [at, user.id]);
        announced.access = true;
        await deleteWebhooksOf(user.id, query, announced);
        await removeSharesOf(user.id, query, announced);
        return true;
      }),
  } satisfies Partial<AccessStore>;
}

function firstUser([row]: readonly Row[]): User | undefined {
  return ifFound(row, toUser);
}
