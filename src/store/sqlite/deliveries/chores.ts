import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { behind } from '../../event-ids.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { ANY_UNFOLDED, nameFolding } from '../plants/plants.ts';
import { expiries } from './expiries.ts';
import type { OutboxWrites } from './outbox.ts';
import { replays } from './replays.ts';

export function choreWrites(db: DatabaseSync, outbox: OutboxWrites) {
  const replay = replays(db, outbox);
  const removeWebhooks = webhookRemovals(db);
  const withdraw = withdrawals(db);
  const removeUsers = userRemovals(db);
  // Answers to requests with a key.
  const expiredKeys = removal(db, 'idempotency', KEY_OF_ANSWER, 'expires_at <= ?');
  const foldNames = nameFolding(db);
  return {
    advance({ now, limit }: { now: number; limit: number }): boolean {
      withdraw(limit);
      replay(now, limit);
      removeWebhooks(limit);
      removeUsers(limit);
      expiredKeys.run(now, limit);
      foldNames(limit);
      // Nothing else holds up what `hasChores` finds.
      return true;
    },
    removeExpired: expiries(db),
  };
}

export function choreReads(db: DatabaseSync, snapshot: Snapshot) {
  const any = db.prepare(`SELECT 1
    WHERE EXISTS (SELECT 1 FROM replays)
       OR EXISTS (SELECT 1 FROM withdrawals)
       OR EXISTS (SELECT 1 FROM webhooks WHERE status = 'deleted')
       OR EXISTS (SELECT 1 FROM users WHERE deleted_at IS NOT NULL)
       OR EXISTS (SELECT 1 FROM idempotency WHERE expires_at <= ?)
       OR EXISTS (${ANY_UNFOLDED})`);
  return {
    hasChores: async (now: number): Promise<boolean> => snapshot.read(() => any.get(now) !== undefined),
  };
}

/** Removes some data of a deleted webhook, and finally the webhook. */
function webhookRemovals(db: DatabaseSync): (limit: number) => void {
  const first = db.prepare(`SELECT id FROM webhooks WHERE status = 'deleted' LIMIT 1`);
  const attempts = removal(db, 'attempts', 'webhook, event, generation', 'webhook = ?');
  const deliveries = removal(db, 'deliveries', 'webhook, event', 'webhook = ?');
  const webhook = db.prepare('DELETE FROM webhooks WHERE id = ?');
  return (limit) => {
    const id = first.get()?.id;
    if (typeof id !== 'string' || attempts.run(id, limit).changes === limit) return;
    if (deliveries.run(id, limit).changes < limit) webhook.run(id);
  };
}

/** Drops some deliveries of owners' events to webhooks of former viewers. */
function withdrawals(db: DatabaseSync): (limit: number) => void {
  const first = db.prepare('SELECT webhook, owner, next, through FROM withdrawals LIMIT 1');
  const list = db.prepare(`SELECT event
    FROM deliveries
    WHERE webhook = ? AND event >= ? AND event <= ?
    ORDER BY event
    LIMIT CAST(? AS INTEGER)`);
  const remove = db.prepare(
    'DELETE FROM deliveries WHERE webhook = ? AND owner = ? AND event >= ? AND event <= ?',
  );
  const goOn = db.prepare('UPDATE withdrawals SET next = ? WHERE webhook = ? AND owner = ?');
  const end = db.prepare('DELETE FROM withdrawals WHERE webhook = ? AND owner = ?');

  return (limit) => {
    // A deleted user may leave a hundred thousand that have little or nothing to drop.
    for (let left = limit; left > 0; ) {
      const row = first.get();
      if (!row) return;
      const { webhook = null, owner = null, next = null, through = null } = row;
      const found = list.all(webhook, next, through, left);
      const last = found.at(-1)?.event ?? null;
      remove.run(webhook, owner, next, last);
      if (found.length < left) end.run(webhook, owner);
      else goOn.run(behind(String(last)), webhook, owner);
      left -= Math.max(1, found.length);
    }
  };
}

/** Removes some data of a deleted user, and finally the user, once their webhooks are gone. */
function userRemovals(db: DatabaseSync): (limit: number) => void {
  const first = db.prepare('SELECT id FROM users WHERE deleted_at IS NOT NULL LIMIT 1');
  const parts = [
    removal(db, 'plants', 'owner, id', 'owner = ?'),
    removal(db, 'events', 'owner, id', 'owner = ?'),
    removal(db, 'idempotency', KEY_OF_ANSWER, 'user = ?'),
  ];
  const waits = db.prepare(`SELECT 1
    WHERE EXISTS (SELECT 1 FROM webhooks WHERE owner = ?1)
       OR EXISTS (SELECT 1 FROM withdrawals WHERE owner = ?1)`);
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

const KEY_OF_ANSWER = 'user, method, path, key';

/** Deletes some of the rows that the condition selects with its parameter. */
function removal(db: DatabaseSync, table: string, key: string, condition: string): StatementSync {
  return db.prepare(`DELETE FROM ${table}
    WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT CAST(? AS INTEGER))`);
}
