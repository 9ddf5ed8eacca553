import type { DatabaseSync } from 'node:sqlite';
import { behind } from '../../event-ids.ts';
import { prepare } from '../engine/prepare.ts';

/** Removes some data of a deleted webhook, and finally the webhook. */
export function webhookRemovals(db: DatabaseSync): (limit: number) => void {
  const first = db.prepare(`SELECT id FROM webhooks WHERE status = 'deleted' LIMIT 1`);
  const deliveries = prepare(db)`DELETE FROM deliveries
    WHERE (webhook, event) IN (
      SELECT webhook, event
      FROM deliveries
      WHERE webhook = ?
      LIMIT CAST(? AS INTEGER)
    )`;
  const attempts = prepare(db)`DELETE FROM attempts
    WHERE (webhook, event, generation) IN (
      SELECT webhook, event, generation
      FROM attempts
      WHERE webhook = ?
      LIMIT CAST(? AS INTEGER)
    )`;
  const webhook = db.prepare('DELETE FROM webhooks WHERE id = ?');
  return (limit) => {
    const id = first.get()?.id;
    if (typeof id !== 'string' || attempts.run(id, limit).changes === limit) return;
    if (deliveries.run(id, limit).changes < limit) webhook.run(id);
  };
}

/** Drops some deliveries of the owner's events to a former viewer's webhooks. */
export function withdrawals(db: DatabaseSync): (limit: number) => void {
  const first = db.prepare('SELECT webhook, owner, next, through FROM withdrawals LIMIT 1');
  const list = prepare(db)`SELECT event, owner
    FROM deliveries
    WHERE webhook = ? AND event >= ? AND event <= ?
    ORDER BY event
    LIMIT CAST(? AS INTEGER)`;
  const remove = db.prepare('DELETE FROM deliveries WHERE webhook = ? AND event = ?');
  const goOn = db.prepare('UPDATE withdrawals SET next = ? WHERE webhook = ? AND owner = ?');
  const end = db.prepare('DELETE FROM withdrawals WHERE webhook = ? AND owner = ?');

  return (limit) => {
    const row = first.get();
    if (!row) return;
    const [webhook, owner] = [String(row.webhook), Number(row.owner)];
    const found = list.all(webhook, String(row.next), String(row.through), limit);
    for (const { event } of found.filter((delivery) => delivery.owner === owner)) {
      remove.run(webhook, String(event));
    }
    const last = found.at(-1);
    if (last === undefined || found.length < limit) end.run(webhook, owner);
    else goOn.run(behind(String(last.event)), webhook, owner);
  };
}

/** Removes some data of a deleted user, and finally the user, once their webhooks are gone. */
export function userRemovals(db: DatabaseSync): (limit: number) => void {
  const first = db.prepare('SELECT id FROM users WHERE deleted_at IS NOT NULL LIMIT 1');
  const removed = { plants: 'owner, id', events: 'owner, id', idempotency: 'user, method, path, key' };
  const parts = Object.entries(removed).map(([table, key]) =>
    db.prepare(
      `DELETE FROM ${table}
       WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${key.split(',')[0]} = ? LIMIT CAST(? AS INTEGER))`,
    ),
  );
  const waits = prepare(db)`SELECT 1
    WHERE EXISTS (SELECT 1 FROM webhooks WHERE owner = ?1)
       OR EXISTS (SELECT 1 FROM withdrawals WHERE owner = ?1)`;
  const forgotten = [
    db.prepare('DELETE FROM removed_events WHERE owner = ?'),
    db.prepare('DELETE FROM assigned_ids WHERE owner = ?'),
  ];
  // No later user gets the id: a client that remembers it must not confuse the two.
  const noteId = db.prepare(`UPDATE meta SET value = max(value, ?) WHERE name = 'last_user'`);
  const remove = db.prepare('DELETE FROM users WHERE id = ?');

  return (limit) => {
    const id = first.get()?.id;
    if (typeof id !== 'number') return;
    for (const part of parts) if (part.run(id, limit).changes === limit) return;
    if (waits.get(id)) return;
    for (const row of forgotten) row.run(id);
    noteId.run(id);
    remove.run(id);
  };
}
