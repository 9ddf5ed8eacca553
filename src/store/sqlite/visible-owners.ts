import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../errors.ts';
import { access as limits } from '../../limits.ts';
import { MAX_ID, MIN_ID, type PlantId } from '../../plants/plant.ts';
import type { Ends, Position } from '../../plants/port.ts';
import type { Snapshot } from './snapshot.ts';

/** Whose plants a viewer may read, in the order of the list. */
export type VisibleOwners = {
  /** The viewer, then those who share with them, by name. */
  of(viewer: number): readonly number[];
  /** The stretches of the list from one position to another, both included, and of each owner as far as `ends` says. */
  stretches(viewer: number, bounds: Bounds): readonly Stretch[];
};

export type Bounds = {
  from: Position | undefined;
  through?: Position | undefined;
  ends?: Ends | undefined;
};

/** Plants of one owner. */
export type Stretch = { owner: number; first: PlantId; last: PlantId };

type Owner = { id: number; name: string };

/** `whole`: the stretches of the whole list. */
type Visible = { owners: readonly Owner[]; whole: readonly Stretch[] };

/** Looked up once for each viewer and access epoch, so that a list without shares costs no query more. */
export function visibleOwners(db: DatabaseSync, snapshot: Snapshot, epoch: () => number): VisibleOwners {
  const sharing = db.prepare(
    `SELECT u.id, u.name
     FROM shares s
     JOIN users u ON u.id = s.owner
     WHERE s.viewer = ?`,
  );
  const named = db.prepare('SELECT name FROM users WHERE id = ? AND deleted_at IS NULL');
  const known = new Map<number, Visible>();
  let knownEpoch = -1;
  let knownOwners = 0;

  function visible(viewer: number): Visible {
    const current = epoch();
    if (current !== knownEpoch || knownOwners >= limits.cachedOwners) {
      known.clear();
      knownOwners = 0;
      knownEpoch = current;
    }
    return known.get(viewer) ?? lookUp(viewer);
  }

  function lookUp(viewer: number): Visible {
    const others = snapshot.read(() => sharing.all(viewer));
    const owners = [{ id: viewer, name: '' }, ...others.map(toOwner).sort(byName)];
    const found = { owners, whole: owners.map(({ id }) => ({ owner: id, first: MIN_ID, last: MAX_ID })) };
    known.set(viewer, found);
    knownOwners += owners.length;
    return found;
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
    of: (viewer) => visible(viewer).owners.map(({ id }) => id),
    stretches(viewer, { from, through, ends }) {
      const { owners: list, whole } = visible(viewer);
      if (!from && !through && !ends) return whole;
      const start = from ? indexOf(list, from.owner) : { index: 0, isThere: false };
      const end = through ? indexOf(list, through.owner) : { index: list.length, isThere: false };
      const covered = whole.slice(start.index, end.isThere ? end.index + 1 : end.index);
      return covered.flatMap(({ owner, first, last }) => {
        const settled = ends ? ends.get(owner) : last;
        if (settled === undefined) return [];
        const bound = through?.owner === owner && through.id < settled ? through.id : settled;
        return [{ owner, first: from?.owner === owner ? from.id : first, last: bound }];
      });
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
