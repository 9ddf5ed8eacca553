import type { DatabaseSync } from 'node:sqlite';
import { prepare } from '../engine/prepare.ts';
import type { Snapshot } from '../engine/snapshot.ts';
import { ANY_UNFOLDED, nameFolding } from '../plants/name-folding.ts';
import { expiries, keyExpiries } from './expiries.ts';
import type { OutboxWrites } from './outbox.ts';
import { userRemovals, webhookRemovals, withdrawals } from './removals.ts';
import { replays } from './replays.ts';

export function choreWrites(db: DatabaseSync, outbox: OutboxWrites) {
  const replay = replays(db, outbox);
  const removeWebhooks = webhookRemovals(db);
  const withdraw = withdrawals(db);
  const removeUsers = userRemovals(db);
  const removeKeys = keyExpiries(db);
  const foldNames = nameFolding(db);
  return {
    advance({ now, limit }: { now: number; limit: number }): boolean {
      withdraw(limit);
      replay(now, limit);
      removeWebhooks(limit);
      removeUsers(limit);
      removeKeys(now, limit);
      foldNames(limit);
      // Nothing else holds up what `hasChores` finds.
      return true;
    },
    removeExpired: expiries(db),
  };
}

export function choreReads(db: DatabaseSync, snapshot: Snapshot) {
  const any = prepare(db)`SELECT 1
    WHERE EXISTS (SELECT 1 FROM replays)
       OR EXISTS (SELECT 1 FROM withdrawals)
       OR EXISTS (SELECT 1 FROM webhooks WHERE status = 'deleted')
       OR EXISTS (SELECT 1 FROM users WHERE deleted_at IS NOT NULL)
       OR EXISTS (SELECT 1 FROM idempotency WHERE expires_at <= ?)
       OR EXISTS (${ANY_UNFOLDED})`;
  return {
    hasChores: async (now: number): Promise<boolean> => snapshot.read(() => any.get(now) !== undefined),
  };
}
