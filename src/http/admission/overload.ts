import { http as limits } from '../../limits.ts';

/** What is left behind one slice of requests (`turn.ts`). Times are in milliseconds, of a clock that never goes back. */
export type Slice = {
  now: number;
  /** How many requests go on in a slice. */
  perSlice: number;
  /** Since when the oldest of those that are left waits; undefined when none is left. */
  oldestAt: number | undefined;
};

/** Knows whether more requests come than go on, and how many may wait then. */
export type Overload = {
  sliceEnded(slice: Slice): void;
  /** How many requests may wait; undefined while there is no overload. */
  room(): number | undefined;
  /** Tells of a request that found no room. */
  refused(now: number): void;
};

/**
 * After CoDel (RFC 8289 §3): a queue that empties now and then is a burst, however long it was; one in which the
 * oldest waits too long all the while is overload. Then as many may wait as go on in two slices, and some in any case:
 * the service always has something to do, and nobody waits for long. It is over when nobody was refused for a while.
 */
export function watchOverload(): Overload {
  let lateSince: number | undefined;
  let lateSlices = 0;
  let room: number | undefined;
  /** When a request was refused for the last time; undefined while there is no overload. */
  let refusedAt: number | undefined;

  function isStanding({ now, oldestAt }: Slice): boolean {
    if (oldestAt === undefined || now - oldestAt <= limits.lateMs) {
      lateSince = undefined;
      lateSlices = 0;
      return false;
    }
    lateSince ??= now;
    lateSlices++;
    // Slices are counted, too: while the process was stopped nobody was late.
    return now - lateSince >= limits.patienceMs && lateSlices >= limits.lateSlices;
  }

  return {
    sliceEnded(slice) {
      const { now, perSlice } = slice;
      if (isStanding(slice)) refusedAt ??= now;
      if (refusedAt !== undefined && now - refusedAt > limits.patienceMs) refusedAt = undefined;
      room = refusedAt === undefined ? undefined : Math.max(limits.leastRoom, 2 * perSlice);
    },
    room: () => room,
    refused(now) {
      refusedAt = now;
    },
  };
}
