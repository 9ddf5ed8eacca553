import type { DatabaseSync } from 'node:sqlite';
import type {
  NewWebhook,
  Rotation,
  RotationOutcome,
  Webhook,
  WebhookChange,
} from '../../../webhooks/port.ts';
import { ifFound, toWebhook, WEBHOOK_COLUMNS } from '../../rows.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { type OutboxWrites, webhookOwners } from './outbox.ts';

export function webhookWrites(db: DatabaseSync, outbox: OutboxWrites) {
  const count = db.prepare(`SELECT count(*) AS count FROM webhooks WHERE owner = ? AND status <> 'deleted'`);
  const insert = db.prepare(`INSERT INTO webhooks
    (owner, id, url, description, rate, status, private_key, public_key, created_at)
    VALUES (?, ?, ?, ?, ?, 'enabled', ?, ?, ?)`);
  const insertSecret = db.prepare(INSERT_SECRET);
  const markDeleted = db.prepare(`UPDATE webhooks
    SET status = 'deleted', private_key = ''
    WHERE owner = ? AND id = ? AND status <> 'deleted'`);
  const forgetSecrets = db.prepare('DELETE FROM webhook_secrets WHERE webhook = ?');

  return {
    createWebhook(webhook: NewWebhook, most: number): boolean {
      const { owner, id, url, description, rate, privateKey, publicKey, createdAt, secrets } = webhook;
      if (Number(count.get(owner)?.count) >= most) return false;
      insert.run(owner, id, url, description ?? null, rate ?? null, privateKey, publicKey, createdAt);
      for (const secret of secrets) insertSecret.run(id, createdAt, secret);
      outbox.forgetSubscriptions();
      return true;
    },
    changeWebhook: changes(db, outbox),
    rotateSecret: rotations(db, outbox),
    deleteWebhook(owner: number, id: string): boolean {
      if (markDeleted.run(owner, id).changes === 0) return false;
      forgetSecrets.run(id);
      outbox.forgetSubscriptions();
      outbox.webhookChanged(id);
      return true;
    },
  };
}

function changes(db: DatabaseSync, outbox: OutboxWrites) {
  const find = db.prepare(`SELECT url, description, rate, status
    FROM webhooks
    WHERE owner = ? AND id = ? AND status <> 'deleted'`);
  const update = db.prepare(`UPDATE webhooks
    SET url = ?3,
        description = ?4,
        rate = ?5,
        status = ?6,
        disabled_reason = CASE WHEN ?6 = status THEN disabled_reason END,
        paused_until = CASE WHEN ?7 THEN NULL ELSE paused_until END,
        failing_since = CASE WHEN ?7 THEN NULL ELSE failing_since END,
        generation = generation + ?7
    WHERE owner = ?1 AND id = ?2
    RETURNING ${WEBHOOK_COLUMNS}`);
  // Deliveries waiting for a retry become due at once, through a replay of pending ones.
  const bringForward = db.prepare(`INSERT INTO replays (webhook, owner, hastens, state, next, through)
    SELECT webhook, owner, 1, 'pending', '', event
    FROM (
      SELECT webhook, owner, event
      FROM deliveries INDEXED BY deliveries_by_state
      WHERE webhook = ? AND state = 'pending'
      ORDER BY event DESC
      LIMIT 1
    )
    WHERE true
    ON CONFLICT (webhook) WHERE hastens = 1 DO UPDATE
    SET next = excluded.next, through = excluded.through`);

  return (owner: number, id: string, change: WebhookChange): Webhook | undefined => {
    const before = find.get(owner, id);
    if (!before) return undefined;
    const { url = before.url, description = before.description, rate = before.rate, enabled } = change;
    const status = enabled === undefined ? before.status : enabled ? 'enabled' : 'disabled';
    const begins = url !== before.url || enabled === true ? 1 : 0;
    const row = update.get(owner, id, url ?? null, description ?? null, rate ?? null, status ?? null, begins);
    if (begins || change.rate !== undefined || status !== before.status) outbox.webhookChanged(id);
    if (begins && status === 'enabled') {
      bringForward.run(id);
      outbox.hasWork(id, change.at);
    }
    return row && toWebhook(row);
  };
}

const INSERT_SECRET = 'INSERT INTO webhook_secrets (webhook, created_at, secret) VALUES (?, ?, ?)';

function rotations(db: DatabaseSync, outbox: OutboxWrites) {
  const owns = webhookOwners(db);
  const removeOver = db.prepare('DELETE FROM webhook_secrets WHERE webhook = ? AND expires_at <= ?');
  const live = db.prepare(`SELECT count(*) AS count, min(expires_at) AS until
    FROM webhook_secrets
    WHERE webhook = ?`);
  const limit = db.prepare(`UPDATE webhook_secrets
    SET expires_at = ?
    WHERE webhook = ? AND (expires_at IS NULL OR expires_at > ?)`);
  const insert = db.prepare(INSERT_SECRET);

  return (owner: number, id: string, { secret, at, overlapUntil, most }: Rotation): RotationOutcome => {
    if (!owns(owner, id)) return 'no webhook';
    removeOver.run(id, at);
    const { count, until } = live.get(id) ?? {};
    // Without an overlap all current secrets end now.
    if (Number(count) >= most && overlapUntil > at) return { full: true, until: Number(until) };
    limit.run(overlapUntil, id, overlapUntil);
    removeOver.run(id, at);
    insert.run(id, at, secret);
    outbox.webhookChanged(id);
    return 'rotated';
  };
}

export function webhookReads(db: DatabaseSync, snapshot: Snapshot) {
  const ofOwner = db.prepare(`SELECT ${WEBHOOK_COLUMNS}
    FROM webhooks
    WHERE owner = ? AND status <> 'deleted'
    ORDER BY id`);
  const one = db.prepare(`SELECT ${WEBHOOK_COLUMNS}
    FROM webhooks
    WHERE owner = ? AND id = ? AND status <> 'deleted'`);
  return {
    webhooks: async (owner: number): Promise<Webhook[]> =>
      snapshot.read(() => ofOwner.all(owner).map(toWebhook)),
    webhook: async (owner: number, id: string): Promise<Webhook | undefined> =>
      snapshot.read(() => ifFound(one.get(owner, id), toWebhook)),
  };
}
