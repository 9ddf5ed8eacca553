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
  const remove = db.prepare('DELETE FROM shares WHERE owner = ? AND viewer = ?');
  const ofOwner = db.prepare('SELECT owner, viewer FROM shares WHERE owner = ?');
  const ofViewer = db.prepare('SELECT owner, viewer FROM shares WHERE viewer = ?');
  const webhooksOf = db.prepare(`SELECT id FROM webhooks WHERE owner = ? AND status <> 'deleted'`);
  const withdraw = withdrawing(db);

  const idOf = (name: string): number | undefined => {
    const id = user.get(name)?.id;
    return typeof id === 'number' ? id : undefined;
  };

  function removeById(owner: number, viewer: number): boolean {
    if (remove.run(owner, viewer).changes === 0) return false;
    withdraw(owner, viewer);
    outbox.forgetSubscriptions();
    for (const { id } of webhooksOf.all(viewer)) outbox.webhookChanged(String(id));
    return true;
  }

  return {
    addShare({ owner, viewer, at }: NewShare, most: number): ShareOutcome {
      if (owner === viewer) return 'same user';
      const [from, to] = [idOf(owner), idOf(viewer)];
      if (from === undefined) return 'no owner';
      if (to === undefined) return 'no viewer';
      if (exists.get(from, to)) return 'shared before';
      if (ofOwner.all(from).length >= most) return 'owner full';
      if (ofViewer.all(to).length >= most) return 'viewer full';
      insert.run(from, to, at);
      outbox.forgetSubscriptions();
      return 'shared';
    },
    removeShare({ owner, viewer }: { owner: string; viewer: string }): boolean {
      const [from, to] = [idOf(owner), idOf(viewer)];
      return from !== undefined && to !== undefined && removeById(from, to);
    },
    removeSharesOf(id: number): void {
      for (const { owner, viewer } of [...ofOwner.all(id), ...ofViewer.all(id)]) {
        removeById(Number(owner), Number(viewer));
      }
    },
  };
}

/** Drops the viewer's deliveries of the owner's events so far, slice by slice. */
function withdrawing(db: DatabaseSync): (owner: number, viewer: number) => void {
  const insert = db.prepare(`INSERT INTO withdrawals (webhook, owner, next, through)
    SELECT w.id, ?1, '', (SELECT max(id) FROM events WHERE owner = ?1)
    FROM webhooks w
    WHERE w.owner = ?2 AND w.status <> 'deleted' AND EXISTS (SELECT 1 FROM events WHERE owner = ?1)
    ON CONFLICT (webhook, owner) DO UPDATE
    SET next = '', through = excluded.through`);
  return (owner, viewer) => void insert.run(owner, viewer);
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
