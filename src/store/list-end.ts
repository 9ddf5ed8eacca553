import { list as limits } from '../limits.ts';
import { MAX_ID } from '../plants/plant.ts';
import type { EndQuery, ListEnd, Position } from '../plants/port.ts';
import type { Bounds, Stretch } from './visible-owners.ts';

type Maybe<T> = T | Promise<T>;

/** What finding the end of a list needs from a store. Stretches keep their order. */
export type EndReads = {
  stretches(viewer: number, bounds: Bounds): Maybe<readonly Stretch[]>;
  /** The last position of each stretch that has any. */
  lastOfEach(stretches: readonly Stretch[]): Maybe<readonly Position[]>;
  last(stretches: readonly Stretch[]): Maybe<Position | undefined>;
  first(stretches: readonly Stretch[]): Maybe<Position | undefined>;
  /** Counts from the start of a stretch, at most `most` plants; undefined if it is empty. */
  count(stretch: Stretch, most: number): Maybe<{ count: number; last: Position } | undefined>;
  /** Called between two parts, so that other requests proceed. */
  pause(): Promise<void>;
};

/** Finds where lists end (`PlantStore.end`). */
export function listEnd(reads: EndReads): (query: EndQuery) => Promise<ListEnd> {
  /** Counts from a position; returns where the count ends, and how many are left to count. */
  async function countOn(viewer: number, bounds: Bounds, wanted: number) {
    let last: Position | undefined;
    let left = wanted;
    for (const stretch of await reads.stretches(viewer, bounds)) {
      const counted = await reads.count(stretch, left);
      if (!counted) continue;
      last = counted.last;
      left -= counted.count;
      if (left === 0) break;
    }
    return { last, left };
  }

  async function following(viewer: number, from: Position): Promise<Position | undefined> {
    const stretches = await reads.stretches(viewer, { from });
    const rest = stretches.flatMap((stretch, i) => {
      if (i > 0 || stretch.owner !== from.owner) return stretch;
      return from.id === MAX_ID ? [] : { ...stretch, first: from.id + 1n };
    });
    return reads.first(rest);
  }

  return async ({ viewer, from, count }) => {
    const stretches = await reads.stretches(viewer, { from });
    if (count === undefined) return { last: await reads.last(stretches), next: undefined, ends: undefined };
    const ends = new Map((await reads.lastOfEach(stretches)).map(({ owner, id }) => [owner, id]));
    let last: Position | undefined;
    let next = from;
    for (let left = count; left > 0; left -= limits.countedPlants) {
      const counted = await countOn(viewer, { from: next, ends }, Math.min(left, limits.countedPlants));
      last = counted.last ?? last;
      if (counted.left > 0 || last === undefined) return { last, next: undefined, ends };
      next = await following(viewer, last);
      if (next === undefined) break;
      await reads.pause();
    }
    return { last, next, ends };
  };
}
