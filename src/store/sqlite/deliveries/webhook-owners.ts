import type { DatabaseSync } from 'node:sqlite';

/** Whether the owner has the webhook; one that is being removed counts as gone. */
export function webhookOwners(db: DatabaseSync): (owner: number, webhook: string) => boolean {
  const query = db.prepare(`SELECT 1 FROM webhooks WHERE owner = ? AND id = ? AND status <> 'deleted'`);
  return (owner, webhook) => query.get(owner, webhook) !== undefined;
}
