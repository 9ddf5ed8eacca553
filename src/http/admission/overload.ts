import { http as limits } from '../../limits.ts';

/** The state after one slice of requests (`turn.ts`). Times are in milliseconds of a clock that never goes back. */
type Slice = {
  now: number;
  /** How many requests run in a slice. */
  perSlice: number;
  /** Since when the oldest remaining request waits; undefined if none remains. */
  oldestAt: number | undefined;
};

export type Overload = ReturnType<typeof watchOverload>;

/**
 * Detects when more requests arrive than can run, and limits how many may wait. After CoDel (RFC 8289 §3): a queue that
 * empties now and then is a burst, however long it was; a queue whose oldest request is late throughout is overload.
 * Then as many requests may wait as run in two slices, and never fewer than a minimum, so the service stays busy and
 * nobody waits long. It ends when nobody has been refused for a while.
 */
export function watchOverload() {
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
    // Slices count as well: nobody was late while the process was suspended.
    return now - lateSince >= limits.patienceMs && lateSlices >= limits.lateSlices;
  }

  return {
    sliceEnded(slice: Slice): void {
      const { now, perSlice } = slice;
      if (isStanding(slice)) refusedAt ??= now;
      if (refusedAt !== undefined && now - refusedAt > limits.patienceMs) refusedAt = undefined;
      room = refusedAt === undefined ? undefined : Math.max(limits.leastRoom, 2 * perSlice);
    },
    /** How many requests may wait; undefined while there is no overload. */
    room: () => room,
    /** Tells of a request that found no room. */
    refused(now: number): void {
      refusedAt = now;
    },
  };
}
