import type { DatabaseSync } from 'node:sqlite';
import { toRecord } from '../../rows.ts';
import { type Bounds, type Owner, type Stretch, stretchesOf, visibleCache } from '../../visible-owners.ts';
import type { Snapshot } from '../engine/snapshot.ts';

export type VisibleOwners = ReturnType<typeof visibleOwners>;

/** Looks up owners once for each viewer and access epoch, so a list without shares costs no extra query. */
export function visibleOwners(db: DatabaseSync, snapshot: Snapshot, epoch: () => number) {
  const sharing = db.prepare(`SELECT u.id, u.name
    FROM shares s
    JOIN users u ON u.id = s.owner
    WHERE s.viewer = ?`);
  const named = db.prepare('SELECT name FROM users WHERE id = ? AND deleted_at IS NULL');
  const known = visibleCache(epoch);
  const visible = (viewer: number) =>
    known.get(viewer) ??
    known.keeper()(viewer, snapshot.read(() => sharing.all(viewer)).map(toRecord<Owner>));

  function nameOf(owner: number): string | undefined {
    const name = snapshot.read(() => named.get(owner)?.name);
    return typeof name === 'string' ? name : undefined;
  }

  return {
    /** The viewer, then those who share with them, by name. */
    of: (viewer: number): readonly number[] => visible(viewer).owners.map(({ id }) => id),
    stretches: (viewer: number, bounds: Bounds): readonly Stretch[] =>
      stretchesOf(visible(viewer), bounds, nameOf),
  };
}

/** The number that changes with every change of tokens, users or shares; read once for each snapshot. */
export function accessEpoch(db: DatabaseSync, snapshot: Snapshot): () => number {
  const query = db.prepare(`SELECT value FROM meta WHERE name = 'access_epoch'`);
  const known = { generation: -1, epoch: -1 };
  const read = () => {
    if (known.generation !== snapshot.generation()) {
      known.epoch = Number(query.get()?.value);
      // After the read, which may fail.
      known.generation = snapshot.generation();
    }
    return known.epoch;
  };
  return () => snapshot.read(read);
}
