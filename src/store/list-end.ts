import { list as limits } from '../limits.ts';
import { MIN_ID } from '../plants/plant.ts';
import type { EndQuery, Ends, ListEnd, PlantStore, Position } from '../plants/port.ts';
import { kindOf, type OrderKind } from './plant-orders.ts';
import { type Bounds, positionAfter, type Stretch } from './visible-owners.ts';

type Maybe<T> = T | Promise<T>;

/** What finding the end of a list needs from a store. Stretches keep their order. */
export type EndReads = {
  stretches(viewer: number, bounds: Bounds): Maybe<readonly Stretch[]>;
  /** Counts from the start of each stretch, at most `most` plants; leaves out empty stretches. */
  count(stretches: readonly Stretch[], kind: OrderKind, most: number): Maybe<Iterable<Counted>>;
  /** Called between two parts, so that other requests proceed. */
  pause(): Promise<void>;
};

type Counted = { count: number; last: Position };

const REVERSED = {
  id: 'descending',
  descending: 'id',
  name: 'nameDescending',
  nameDescending: 'name',
} as const;

/** Finds where lists end, and where their last pages begin (`PlantStore`). */
export function listEnds(reads: EndReads): Pick<PlantStore, 'end' | 'lastPage'> {
  async function first(stretches: readonly Stretch[], kind: OrderKind): Promise<Position | undefined> {
    const [counted] = await reads.count(stretches, kind, 1);
    return counted?.last;
  }

  async function following(
    { viewer, order = 'id' }: EndQuery,
    last: Position,
  ): Promise<Position | undefined> {
    const after = positionAfter(order, last);
    const stretches = await reads.stretches(viewer, { order, from: after ?? last });
    const rest = after ? stretches : stretches.filter(({ owner }) => owner !== last.owner);
    return first(rest, kindOf(order));
  }

  /** The highest id of each owner from a position on, whatever the order. */
  async function endsOf(viewer: number, from: Position | undefined): Promise<Ends> {
    const whole = await reads.stretches(viewer, { from: from && { owner: from.owner, id: MIN_ID } });
    const highest = await reads.count(whole, 'descending', 1);
    return new Map(Array.from(highest, ({ last: { owner, id } }) => [owner, id]));
  }

  async function end(query: EndQuery): Promise<ListEnd> {
    const { viewer, order, from, count } = query;
    const ends = await endsOf(viewer, from);
    if (count === undefined) {
      const stretches = await reads.stretches(viewer, { order, from, ends });
      const last = await first(stretches.toReversed(), REVERSED[kindOf(order)]);
      return { last, next: undefined, ends };
    }
    let last: Position | undefined;
    let next = from;
    for (let left = count; left > 0; left -= limits.countedPlants) {
      const stretches = await reads.stretches(viewer, { order, from: next, ends });
      const most = Math.min(left, limits.countedPlants);
      const counted = await countOn(reads, stretches, kindOf(order), most);
      last = counted.last ?? last;
      if (counted.left > 0 || last === undefined) return { last, next: undefined, ends };
      next = await following(query, last);
      if (next === undefined) break;
      await reads.pause();
    }
    return { last, next, ends };
  }

  return {
    end,
    async lastPage({ viewer, order, count }) {
      const stretches = await reads.stretches(viewer, { order, from: undefined });
      return (await countOn(reads, stretches.toReversed(), REVERSED[kindOf(order)], count)).last;
    },
  };
}

/**
 * The stretches that may have plants. Most pages end within two; of more, which a search finds mostly empty, those
 * that are empty are found in one go.
 */
export async function* filled(reads: EndReads, stretches: readonly Stretch[], kind: OrderKind) {
  yield* stretches.slice(0, 2);
  const rest = stretches.slice(2);
  if (rest.length === 0) return;
  const owners = new Set(Array.from(await reads.count(rest, kind, 1), ({ last }) => last.owner));
  yield* rest.filter(({ owner }) => owners.has(owner));
}

/** Counts at most `most` plants of the stretches; returns the last of them, and how many are left to count. */
async function countOn(reads: EndReads, stretches: readonly Stretch[], kind: OrderKind, most: number) {
  let last: Position | undefined;
  let left = most;
  for await (const stretch of filled(reads, stretches, kind)) {
    const [counted] = await reads.count([stretch], kind, left);
    if (!counted) continue;
    last = counted.last;
    left -= counted.count;
    if (left === 0) break;
  }
  return { last, left };
}
