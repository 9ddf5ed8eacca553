import type { DatabaseSync } from 'node:sqlite';
import type { NewWebhook, Webhook } from '../../webhooks/port.ts';
import type { Snapshot } from './snapshot.ts';

/** The statements that write webhooks, for the connection that writes. */
export function webhookWrites(db: DatabaseSync) {
  const insert = db.prepare(
    `INSERT INTO webhooks (owner, id, url, description, status, private_key, public_key, created_at)
     VALUES (?, ?, ?, ?, 'enabled', ?, ?, ?)`,
  );
  const insertSecret = db.prepare(
    'INSERT INTO webhook_secrets (webhook, created_at, secret) VALUES (?, ?, ?)',
  );
  const remove = db.prepare('DELETE FROM webhooks WHERE owner = ? AND id = ?');

  return {
    createWebhook(webhook: NewWebhook): void {
      const { owner, id, url, description, privateKey, publicKey, createdAt, secrets } = webhook;
      insert.run(owner, id, url, description ?? null, privateKey, publicKey, createdAt);
      for (const secret of secrets) insertSecret.run(id, createdAt, secret);
    },
    deleteWebhook: (owner: number, id: string) => remove.run(owner, id).changes > 0,
  };
}

/** The queries that read webhooks. */
export function webhookReads(db: DatabaseSync, snapshot: Snapshot) {
  const ofOwner = db.prepare(
    `SELECT id, owner, url, description, status, public_key, created_at
     FROM webhooks
     WHERE owner = ?
     ORDER BY id`,
  );
  return {
    webhooks: (owner: number): Webhook[] => snapshot.read(() => ofOwner.all(owner).map(toWebhook)),
  };
}

function toWebhook(row: Record<string, unknown>): Webhook {
  return {
    id: String(row.id),
    owner: Number(row.owner),
    url: String(row.url),
    description: row.description === null ? undefined : String(row.description),
    status: row.status === 'enabled' ? 'enabled' : 'disabled',
    publicKey: String(row.public_key),
    createdAt: Number(row.created_at),
  };
}
