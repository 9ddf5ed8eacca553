import { USER_DISABLED } from '../../../access/users.ts';
import type { Query } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';
import type { Announced } from '../replicas/hints.ts';
import { changeWebhook, DELETION, deleted } from './webhooks.ts';

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

const MARK_DELETED_OF = changeOf(`status <> 'deleted'`, DELETION);

export async function deleteWebhooksOf(owner: number, query: Query, announced: Announced): Promise<void> {
  await deleted(await query(MARK_DELETED_OF, [owner]), query, announced);
}
