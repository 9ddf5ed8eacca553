/**
 * A queue that processes as much at a time as fits into a time slice. `now` is in milliseconds of a clock that never goes
 * back; `go` starts an item.
 */
export function createPacedQueue<Item>(now: () => number, go: (item: Item) => void) {
  /** Started items become undefined, because they may reference much memory. */
  let items: (Item | undefined)[] = [];
  /** The index in `items` of the first waiting item; the same index and the time at the start of the slice. */
  let next = 0;
  let from = 0;
  let begun = 0;
  /** Items per millisecond. */
  let pace = FIRST_PACE;

  /** How many items run in a slice of this many milliseconds. */
  function perSlice(plannedMs: number): number {
    return Math.max(1, Math.ceil(pace * plannedMs));
  }

  return {
    push: (item: Item) => void items.push(item),
    size: () => items.length - next,
    /** The item that has waited longest. */
    oldest: (): Item | undefined => items[next],
    perSlice,
    /** Starts that many items, but at most `most`. */
    begin(plannedMs: number, most = Infinity): void {
      if (next === items.length) return;
      begun = now();
      const end = Math.min(items.length, next + Math.min(perSlice(plannedMs), most));
      while (next < end) {
        // Every index from `next` on has an item.
        const item = items[next] as Item;
        items[next++] = undefined;
        go(item);
      }
    },
    /** Call when everything they do at once is done, promises included. The duration sets how many run next time. */
    end(): void {
      const served = next - from;
      if (served > 0) pace = averagePace(pace, served / (now() - begun));
      if (next === items.length) items = [];
      else if (next > items.length / 2) items.splice(0, next);
      else {
        from = next;
        return;
      }
      from = 0;
      next = 0;
    },
    /** Removes the newest waiting items, which have not started, keeping this many. */
    cut: (keep: number) => items.splice(next + keep) as Item[],
  };
}

/** Until it is measured. */
const FIRST_PACE = 10;

/** A few cheap items must not set the pace for all; expensive ones count sooner. */
function averagePace(pace: number, newest: number): number {
  return (pace + Math.min(newest, 2 * pace)) / 2;
}
