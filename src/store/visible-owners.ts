import { AppError } from '../errors.ts';
import { access as limits } from '../limits.ts';
import { MAX_FOLDED, MAX_ID, MIN_ID, type PlantId } from '../plants/plant.ts';
import type { ListOrder, PageQuery, Position } from '../plants/port.ts';

/** The owners whose plants a viewer may read, in list order: the viewer, then those who share with them, by name. */
export type VisibleOwners = {
  owners: readonly Owner[];
  whole: readonly Stretch[];
};

export type Owner = { id: number; name: string };

/**
 * Plants of one owner, inclusive: ids from the lowest to the highest in either order or, by name, positions from the first
 * to the last, without ids above `most`.
 */
export type Stretch = {
  owner: number;
  first: PlantId;
  last: PlantId;
  names?: { first: string; last: string; most: PlantId };
};

export type Bounds = Pick<PageQuery, 'order' | 'from' | 'ends'> & Partial<Pick<PageQuery, 'through'>>;

/**
 * The stretches of the list from one position to another, inclusive, each limited by `ends`.
 * @param nameOf the name of an owner who no longer shares; undefined if the user does not exist
 * @throws AppError 40007 when the owner of a position no longer exists
 */
export function stretchesOf(
  { owners, whole }: VisibleOwners,
  { order = 'id', from, through, ends }: Bounds,
  nameOf: (owner: number) => string | undefined,
): readonly Stretch[] {
  if (!from && !through && !ends && typeof order === 'string') return whole;
  const start = from ? ownerAt(owners, from.owner, nameOf) : { index: 0, isThere: false };
  const end = through ? ownerAt(owners, through.owner, nameOf) : { index: owners.length, isThere: false };
  const covered = owners.slice(start.index, end.isThere ? end.index + 1 : end.index);
  return covered.flatMap(({ id: owner }) => {
    const most = ends ? ends.get(owner) : MAX_ID;
    if (most === undefined) return [];
    const begins = from?.owner === owner ? from : undefined;
    const last = through?.owner === owner ? through : undefined;
    return [{ owner, ...rangeOf(order, begins, last, most) }];
  });
}

function rangeOf(
  order: ListOrder,
  from: Position | undefined,
  through: Position | undefined,
  most: PlantId,
): Omit<Stretch, 'owner'> {
  if (typeof order === 'object') {
    const { prefix } = order;
    const names = { first: from?.name ?? prefix, last: through?.name ?? prefix + AFTER_NAMES, most };
    return { first: from?.id ?? MIN_ID, last: through?.id ?? MAX_ID, names };
  }
  const [lowest, highest] = order === 'id' ? [from, through] : [through, from];
  const last = highest?.id ?? MAX_ID;
  return { first: lowest?.id ?? MIN_ID, last: last < most ? last : most };
}

/** Sorts after whatever a folded name has after a prefix. */
const AFTER_NAMES = '\u{10FFFF}'.repeat(MAX_FOLDED + 1);

/** The first position after a plant; undefined if its owner has none. */
export function positionAfter(order: ListOrder, { owner, id, name }: Position): Position | undefined {
  if (order === 'descending') return id === MIN_ID ? undefined : { owner, id: id - 1n };
  if (id < MAX_ID) return { owner, id: id + 1n, ...(name === undefined ? {} : { name }) };
  // No name has a NUL.
  return name === undefined ? undefined : { owner, id: MIN_ID, name: `${name}\u0001` };
}

/** The index of an owner or, if they no longer share, of the owner who would follow them. */
function ownerAt(
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

/** By code points: UTF-16 order differs beyond the first plane. */
function byName(one: { name: string }, other: { name: string }): number {
  return Buffer.compare(Buffer.from(one.name), Buffer.from(other.name));
}

function ownerGone(): AppError {
  return new AppError(
    40007,
    'The user whose plants this cursor points to no longer exists; start without a cursor.',
  );
}

/**
 * SQL for whether a webhook may receive an owner's event, over `d` (deliveries): the owner is the webhook's, or shares
 * with them, and the delivery is not left from an earlier share.
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

/** The owners found for viewers, valid until the access epoch changes. */
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
    /** Call it before a lookup, and its result with what was found: a change in between prevents caching. */
    keeper() {
      const into = known;
      return (viewer: number, sharing: readonly Owner[]): VisibleOwners => {
        const owners = [{ id: viewer, name: '' }, ...sharing.toSorted(byName)];
        const found = { owners, whole: owners.map(({ id }) => ({ owner: id, first: MIN_ID, last: MAX_ID })) };
        into.set(viewer, found);
        if (into === known) knownOwners += owners.length;
        return found;
      };
    },
  };
}
