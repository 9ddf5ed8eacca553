/**
 * A queue that processes as much at a time as fits into a time slice. `now` is in milliseconds of a clock that never goes
 * back; `go` starts an item.
 */
export function createPacedQueue<Item>(now: () => number, go: (item: Item) => void) {
  const items: Item[] = [];
  /** How many of the items have started in this slice, and when it began. */
  let started = 0;
  let begun = 0;
  /** Items per millisecond. */
  let pace = FIRST_PACE;

  /** How many items run in a slice of this many milliseconds. */
  function perSlice(plannedMs: number): number {
    return Math.max(1, Math.ceil(pace * plannedMs));
  }

  return {
    push: (item: Item) => void items.push(item),
    size: () => items.length - started,
    /** The item that has waited longest. */
    oldest: (): Item | undefined => items[started],
    perSlice,
    /** Starts that many items, but at most `most`. */
    begin(plannedMs: number, most = Infinity): void {
      begun = now();
      for (const item of items.slice(0, Math.min(perSlice(plannedMs), most))) {
        started++;
        go(item);
      }
    },
    /** Call when everything they do at once is done, promises included. The duration sets how many run next time. */
    end(): void {
      if (started > 0) pace = averagePace(pace, started / (now() - begun));
      items.splice(0, started);
      started = 0;
    },
    /** Removes the newest waiting items, which have not started, keeping this many. */
    cut: (keep: number) => items.splice(started + keep),
  };
}

/** Until it is measured. */
const FIRST_PACE = 10;

/** A few cheap items must not set the pace for all; expensive ones count sooner. */
function averagePace(pace: number, newest: number): number {
  return (pace + Math.min(newest, 2 * pace)) / 2;
}
