import type { DatabaseSync } from 'node:sqlite';
import type { NewShare, Share, ShareOutcome } from '../../../access/port.ts';
import { SHARES, toShare } from '../../rows.ts';
import { isVisibleTo } from '../../visible-owners.ts';
import type { OutboxWrites } from '../deliveries/outbox.ts';
import type { Snapshot } from '../engine/snapshot.ts';

export function shareWrites(db: DatabaseSync, outbox: OutboxWrites) {
  const user = db.prepare('SELECT id FROM users WHERE name = ?');
  const exists = db.prepare('SELECT 1 FROM shares WHERE owner = ? AND viewer = ?');
  const insert = db.prepare(`INSERT INTO shares (owner, viewer, created_at, removed)
    VALUES (?1, ?2, ?3, (SELECT event FROM removed_events WHERE owner = ?1))`);
  const countOf = db.prepare('SELECT count(*) AS count FROM shares WHERE owner = ?');
  const countWith = db.prepare('SELECT count(*) AS count FROM shares WHERE viewer = ?');
  const remove = db.prepare(`DELETE FROM shares
    WHERE owner = (SELECT id FROM users WHERE name = ?) AND viewer = (SELECT id FROM users WHERE name = ?)
    RETURNING owner, viewer`);
  const removeOf = db.prepare('DELETE FROM shares WHERE owner = ?1 OR viewer = ?1 RETURNING owner, viewer');
  const webhooksOf = db.prepare(`SELECT id FROM webhooks WHERE owner = ? AND status <> 'deleted'`);
  // Drops the viewer's deliveries of the owner's events so far, slice by slice.
  const withdraw = db.prepare(`INSERT INTO withdrawals (webhook, owner, next, through)
    SELECT w.id, ?1, '', (SELECT max(id) FROM events WHERE owner = ?1)
    FROM webhooks w
    WHERE w.owner = ?2 AND w.status <> 'deleted' AND EXISTS (SELECT 1 FROM events WHERE owner = ?1)
    ON CONFLICT (webhook, owner) DO UPDATE
    SET next = '', through = excluded.through`);

  function removed(shares: ReturnType<typeof remove.all>): boolean {
    for (const { owner = null, viewer = null } of shares) {
      withdraw.run(owner, viewer);
      for (const { id } of webhooksOf.all(viewer)) outbox.webhookChanged(String(id));
    }
    outbox.forgetSubscriptions();
    return shares.length > 0;
  }

  return {
    addShare({ owner, viewer, at }: NewShare, most: number): ShareOutcome {
      if (owner === viewer) return 'same user';
      const [from, to] = [user.get(owner)?.id, user.get(viewer)?.id];
      if (from === undefined) return 'no owner';
      if (to === undefined) return 'no viewer';
      if (exists.get(from, to)) return 'shared before';
      if (Number(countOf.get(from)?.count) >= most) return 'owner full';
      if (Number(countWith.get(to)?.count) >= most) return 'viewer full';
      insert.run(from, to, at);
      outbox.forgetSubscriptions();
      return 'shared';
    },
    removeShare: ({ owner, viewer }: { owner: string; viewer: string }) => removed(remove.all(owner, viewer)),
    removeSharesOf: (user: number) => removed(removeOf.all(user)),
  };
}

export function shareReads(db: DatabaseSync, snapshot: Snapshot) {
  const all = db.prepare(SHARES);
  return {
    shares: async (): Promise<Share[]> => snapshot.read(() => all.all().map(toShare)),
  };
}

/** The viewer and the users who share with them. */
export function ownersVisibleTo(db: DatabaseSync): (viewer: number) => number[] {
  const sharing = db.prepare('SELECT owner FROM shares WHERE viewer = ?');
  return (viewer) => [viewer, ...sharing.all(viewer).map(({ owner }) => Number(owner))];
}

export const IS_VISIBLE = isVisibleTo('(SELECT owner FROM webhooks WHERE id = d.webhook)');
