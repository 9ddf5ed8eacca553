import { AppError } from '../errors.ts';
import { access as limits } from '../limits.ts';
import { MAX_ID, MIN_ID, type PlantId } from '../plants/plant.ts';
import type { Ends, Position } from '../plants/port.ts';

/** Whose plants a viewer may read, in the order of the list: the viewer, then those who share with them, by name. */
export type VisibleOwners = {
  owners: readonly Owner[];
  /** The stretches of the whole list. */
  whole: readonly Stretch[];
};

export type Owner = { id: number; name: string };

/** Plants of one owner, from the first to the last, both included. */
export type Stretch = { owner: number; first: PlantId; last: PlantId };

export type Bounds = {
  from: Position | undefined;
  through?: Position | undefined;
  ends?: Ends | undefined;
};

/** `sharing`: those who share with the viewer, in any order. */
function visibleOwners(viewer: number, sharing: readonly Owner[]): VisibleOwners {
  const owners = [{ id: viewer, name: '' }, ...sharing.toSorted(byName)];
  return { owners, whole: owners.map(({ id }) => ({ owner: id, first: MIN_ID, last: MAX_ID })) };
}

/**
 * The stretches of the list from one position to another, both included, and of each owner as far as `ends` says.
 *
 * @param nameOf the name of an owner who shares no more; undefined when there is none of this id
 * @throws AppError 40007 when the owner of a position does not exist any more
 */
export function stretchesOf(
  { owners, whole }: VisibleOwners,
  { from, through, ends }: Bounds,
  nameOf: (owner: number) => string | undefined,
): readonly Stretch[] {
  if (!from && !through && !ends) return whole;
  const start = from ? placeOf(owners, from.owner, nameOf) : { index: 0, isThere: false };
  const end = through ? placeOf(owners, through.owner, nameOf) : { index: owners.length, isThere: false };
  const covered = whole.slice(start.index, end.isThere ? end.index + 1 : end.index);
  return covered.flatMap(({ owner, first, last }) => {
    const settled = ends ? ends.get(owner) : last;
    if (settled === undefined) return [];
    const bound = through?.owner === owner && through.id < settled ? through.id : settled;
    return [{ owner, first: from?.owner === owner ? from.id : first, last: bound }];
  });
}

/** The index of an owner or, when they share no more, of the one who would follow. */
function placeOf(
  owners: readonly Owner[],
  id: number,
  nameOf: (owner: number) => string | undefined,
): { index: number; isThere: boolean } {
  const index = owners.findIndex((owner) => owner.id === id);
  if (index !== -1) return { index, isThere: true };
  const name = nameOf(id);
  if (name === undefined) throw ownerGone();
  const following = owners.findIndex((owner, i) => i > 0 && byName(owner, { name }) > 0);
  return { index: following === -1 ? owners.length : following, isThere: false };
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

/**
 * Whether a webhook may have a delivery of an owner's event, as SQL over `d` (deliveries): the owner is the webhook's, or
 * shares with them, and it is none of those that an earlier share left.
 *
 * @param subscriber the owner of the webhook, as SQL
 */
export function isVisibleTo(subscriber: string): string {
  return `(
       d.owner = ${subscriber}
       OR (
         EXISTS (SELECT 1 FROM shares s WHERE s.owner = d.owner AND s.viewer = ${subscriber})
         AND NOT EXISTS (
           SELECT 1
           FROM withdrawals x
           WHERE x.webhook = d.webhook AND x.owner = d.owner AND d.event <= x.through
         )
       )
     )`;
}

/** What was looked up of viewers, for as long as the access epoch stays. */
export function visibleCache(epoch: () => number) {
  let known = new Map<number, VisibleOwners>();
  let knownEpoch = -1;
  let knownOwners = 0;
  return {
    get(viewer: number): VisibleOwners | undefined {
      const current = epoch();
      if (current !== knownEpoch || knownOwners >= limits.cachedOwners) {
        known = new Map();
        knownOwners = 0;
        knownEpoch = current;
      }
      return known.get(viewer);
    },
    /** To be called before a look-up, with what it finds after it: what was asked before a change is not kept. */
    keeper() {
      const into = known;
      return (viewer: number, sharing: readonly Owner[]): VisibleOwners => {
        const found = visibleOwners(viewer, sharing);
        into.set(viewer, found);
        if (into === known) knownOwners += found.owners.length;
        return found;
      };
    },
  };
}
