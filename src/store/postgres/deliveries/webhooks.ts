import { USER_DISABLED } from '../../../access/users.ts';
import type { Webhook, WebhookChange, WebhookStore } from '../../../webhooks/port.ts';
import { ifFound, toWebhook, WEBHOOK_COLUMNS } from '../../rows.ts';
import { type Database, pathId, type Query, type Row, statement } from '../engine/database.ts';
import { LOCK_USERS } from '../engine/locks.ts';
import type { Run, Work } from '../engine/writer.ts';
import type { Announced } from '../replicas/hints.ts';
import { momentOf } from './delivery-states.ts';

const INSERT = statement`INSERT INTO webhooks (owner, id, url, description, rate, status, private_key, public_key, created_at)
  SELECT id, $2, $3, $4, $5, 'enabled', $6, $7, $8
  FROM users
  WHERE id = $1 AND deleted_at IS NULL
    AND (SELECT count(*) FROM webhooks WHERE owner = $1 AND status <> 'deleted') < $9
  RETURNING 1`;

const INSERT_SECRETS = statement`INSERT INTO webhook_secrets (webhook, created_at, secret)
  SELECT $1, $2, secret
  FROM unnest($3::text[]) AS secret`;

/** Changes to a webhook and the recording of outcomes run one after another. */
const LOCK = statement`SELECT url, description, rate, status
  FROM webhooks
  WHERE owner = $1 AND id = $2 AND status <> 'deleted'
  FOR NO KEY UPDATE`;

/** The locked webhook; undefined if the owner has none with this id. */
export async function lockWebhook(query: Query, owner: number, id: string): Promise<Row | undefined> {
  return (await query(LOCK, [owner, pathId(id)]))[0];
}

const UPDATE = statement`UPDATE webhooks
  SET url = $3,
      description = $4,
      rate = $5,
      status = $6,
      disabled_reason = CASE WHEN $6 = status THEN disabled_reason END,
      paused_until = CASE WHEN $7 THEN NULL ELSE paused_until END,
      failing_since = CASE WHEN $7 THEN NULL ELSE failing_since END,
      generation = CASE WHEN $7 THEN generation + 1 ELSE generation END
  WHERE owner = $1 AND id = $2
  RETURNING ${WEBHOOK_COLUMNS}`;

/** Deliveries waiting for a retry become due at once, through a replay of pending ones. */
const BRING_FORWARD = statement`INSERT INTO replays (subscriber, webhook, hastens, state, next, through)
  SELECT subscriber, webhook, true, 'pending', '', event
  FROM (
    SELECT subscriber, webhook, event
    FROM deliveries
    WHERE subscriber = $1 AND webhook = $2 AND state = 'pending'
    ORDER BY ${momentOf('event')} DESC
    FETCH FIRST ROW WITH TIES
  ) d
  ORDER BY event DESC
  LIMIT 1
  ON CONFLICT (webhook) WHERE hastens DO UPDATE
  SET next = excluded.next, through = excluded.through`;

function changeWebhook(owner: number, id: string, change: WebhookChange): Work<Webhook | undefined> {
  return async (query, announced) => {
    const before = await lockWebhook(query, owner, id);
    if (!before) return undefined;
    const { url = before.url, description = before.description, rate = before.rate, enabled } = change;
    const status = enabled === undefined ? before.status : enabled ? 'enabled' : 'disabled';
    const begins = url !== before.url || enabled === true;
    const [row] = await query(UPDATE, [owner, id, url, description, rate, status, begins]);
    if (begins && status === 'enabled') await query(BRING_FORWARD, [owner, id]);
    const isOther = begins || status !== before.status || change.rate !== undefined;
    if (isOther) announced.changed.push(id);
    if (isOther && status === 'enabled') announced.lanes.push({ webhook: id, due: change.at });
    return row && toWebhook(row);
  };
}

const DELETION = `status = 'deleted', deleted_tx = pg_current_xact_id(), private_key = ''`;

const FORGET_SECRETS = statement`DELETE FROM webhook_secrets WHERE webhook = ANY($1::text[])`;

/** Drops the secrets of deleted webhooks; returns whether there were any webhooks. */
async function deleted(rows: readonly Row[], query: Query, announced: Announced): Promise<boolean> {
  if (rows.length === 0) return false;
  const ids = rows.map(({ id }) => String(id));
  await query(FORGET_SECRETS, [ids]);
  announced.changed.push(...ids);
  return true;
}

/** Changes webhooks of a user. They are locked in id order, as everywhere that locks several. */
const changeOf = (isMeant: string, changes: string) => statement`WITH found AS MATERIALIZED (
    SELECT id
    FROM webhooks
    WHERE owner = $1 AND ${isMeant}
    ORDER BY id
    FOR NO KEY UPDATE
  )
  UPDATE webhooks w
  SET ${changes}
  FROM found f
  WHERE w.owner = $1 AND w.id = f.id
  RETURNING w.id`;

const DISABLE_OF = changeOf(`status = 'enabled'`, `status = 'disabled', disabled_reason = $2`);

export async function disableWebhooksOf(owner: number, query: Query, announced: Announced): Promise<void> {
  for (const { id } of await query(DISABLE_OF, [owner, USER_DISABLED])) announced.changed.push(String(id));
}

const DISABLED_WITH_USER = statement`SELECT id
  FROM webhooks
  WHERE owner = $1 AND status = 'disabled' AND disabled_reason = $2
  ORDER BY id`;

/** Enables the webhooks of a re-enabled user; those disabled by their owner or receiver stay disabled. */
export async function enableWebhooksOf(
  owner: number,
  at: number,
  query: Query,
  announced: Announced,
): Promise<void> {
  for (const { id } of await query(DISABLED_WITH_USER, [owner, USER_DISABLED])) {
    await changeWebhook(owner, String(id), { at, enabled: true })(query, announced);
  }
}

const MARK_DELETED = changeOf(`id = $2 AND status <> 'deleted'`, DELETION);

const MARK_DELETED_OF = changeOf(`status <> 'deleted'`, DELETION);

export async function deleteWebhooksOf(owner: number, query: Query, announced: Announced): Promise<void> {
  await deleted(await query(MARK_DELETED_OF, [owner]), query, announced);
}

const REMOVE_OVER = statement`DELETE FROM webhook_secrets WHERE webhook = $1 AND expires_at <= $2`;

const LIVE = statement`SELECT count(*) AS count, min(expires_at) AS until
  FROM webhook_secrets
  WHERE webhook = $1`;

const LIMIT = statement`UPDATE webhook_secrets
  SET expires_at = $2
  WHERE webhook = $1 AND (expires_at IS NULL OR expires_at > $2)`;

const OF_OWNER = statement`SELECT ${WEBHOOK_COLUMNS}
  FROM webhooks
  WHERE owner = $1 AND status <> 'deleted'
  ORDER BY id`;

const FIND = statement`SELECT ${WEBHOOK_COLUMNS}
  FROM webhooks
  WHERE owner = $1 AND id = $2 AND status <> 'deleted'`;

export function webhookStore({ read }: Pick<Database, 'read'>, run: Run): WebhookStore {
  return {
    webhooks: async (owner) => (await read(OF_OWNER, [owner])).map(toWebhook),
    webhook: async (owner, id) => ifFound((await read(FIND, [owner, pathId(id)]))[0], toWebhook),
    createWebhook: (webhook, most, caller) =>
      run(async (query) => {
        const { owner, id, url, description, rate, privateKey, publicKey, createdAt, secrets } = webhook;
        // So that each create counts the webhooks before.
        await query(LOCK_USERS, [[owner]]);
        const values = [owner, id, url, description, rate, privateKey, publicKey, createdAt, most];
        if ((await query(INSERT, values)).length === 0) return false;
        await query(INSERT_SECRETS, [id, createdAt, secrets]);
        return true;
      }, caller),
    changeWebhook: (owner, id, change, caller) => run(changeWebhook(owner, id, change), caller),
    deleteWebhook: (owner, id, caller) =>
      run(
        async (query, announced) => deleted(await query(MARK_DELETED, [owner, pathId(id)]), query, announced),
        caller,
      ),
    rotateSecret: (owner, id, { secret, at, overlapUntil, most }, caller) =>
      run(async (query, announced) => {
        if (!(await lockWebhook(query, owner, id))) return 'no webhook';
        await query(REMOVE_OVER, [id, at]);
        const [live] = await query(LIVE, [id]);
        // Without an overlap all current secrets end now.
        if (Number(live?.count) >= most && overlapUntil > at)
          return { full: true, until: Number(live?.until) };
        await query(LIMIT, [id, overlapUntil]);
        await query(REMOVE_OVER, [id, at]);
        await query(INSERT_SECRETS, [id, at, [secret]]);
        announced.changed.push(id);
        return 'rotated';
      }, caller),
  };
}
