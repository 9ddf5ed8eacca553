import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../errors.ts';
import { access as limits } from '../../limits.ts';
import { MAX_ID, MIN_ID, type PlantId } from '../../plants/plant.ts';
import type { Position } from '../../plants/port.ts';
import type { Snapshot } from './snapshot.ts';

/** Whose plants a viewer may read, in the order of the list. */
export type VisibleOwners = {
  /** The viewer, then those who share with them, by name. */
  of(viewer: number): readonly number[];
  /** The stretches of the list from one position to another, both included. */
  stretches(viewer: number, from: Position | undefined, through: Position | undefined): readonly Stretch[];
};

/** Plants of one owner. */
export type Stretch = { owner: number; first: PlantId; last: PlantId };

type Owner = { id: number; name: string };

/** Looked up once for each viewer and access epoch, so that a list without shares costs no query more. */
export function visibleOwners(db: DatabaseSync, snapshot: Snapshot, epoch: () => number): VisibleOwners {
  const sharing = db.prepare(
    `SELECT u.id, u.name
     FROM shares s
     JOIN users u ON u.id = s.owner
     WHERE s.viewer = ?`,
  );
  const named = db.prepare('SELECT name FROM users WHERE id = ? AND deleted_at IS NULL');
  const known = new Map<number, readonly Owner[]>();
  let knownEpoch = -1;

  function owners(viewer: number): readonly Owner[] {
    const current = epoch();
    if (current !== knownEpoch || known.size >= limits.cachedViewers) known.clear();
    knownEpoch = current;
    const found = known.get(viewer) ?? lookUp(viewer);
    known.set(viewer, found);
    return found;
  }

  function lookUp(viewer: number): readonly Owner[] {
    const others = snapshot.read(() => sharing.all(viewer));
    return [{ id: viewer, name: '' }, ...others.map(toOwner).sort(byName)];
  }

  /** The index of an owner or, when they share no more, of the one who would follow. */
  function indexOf(list: readonly Owner[], id: number): { index: number; isThere: boolean } {
    const index = list.findIndex((owner) => owner.id === id);
    if (index !== -1) return { index, isThere: true };
    const name = snapshot.read(() => named.get(id)?.name);
    if (typeof name !== 'string') throw ownerGone();
    const following = list.findIndex((owner, i) => i > 0 && byName(owner, { name }) > 0);
    return { index: following === -1 ? list.length : following, isThere: false };
  }

  return {
    of: (viewer) => owners(viewer).map(({ id }) => id),
    stretches(viewer, from, through) {
      const list = owners(viewer);
      const start = from ? indexOf(list, from.owner) : { index: 0, isThere: false };
      const end = through ? indexOf(list, through.owner) : { index: list.length, isThere: false };
      const covered = list.slice(start.index, end.isThere ? end.index + 1 : end.index);
      return covered.map(({ id }) => ({
        owner: id,
        first: from?.owner === id ? from.id : MIN_ID,
        last: through?.owner === id ? through.id : MAX_ID,
      }));
    },
  };
}

function toOwner(row: Record<string, unknown>): Owner {
  return { id: Number(row.id), name: String(row.name) };
}

/** By code points: UTF-16 would put those beyond the first plane before some of it. */
function byName(one: { name: string }, other: { name: string }): number {
  return Buffer.compare(Buffer.from(one.name), Buffer.from(other.name));
}

function ownerGone(): AppError {
  return new AppError(
    40007,
    'The user at whose plants this cursor stands does not exist any more; start without a cursor.',
  );
}
