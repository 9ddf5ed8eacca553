/** A queue that processes as much at a time as fits into a time slice. */
export type PacedQueue<Item> = {
  push(item: Item): void;
  size(): number;
  /** The item that has waited longest. */
  oldest(): Item | undefined;
  /** How many items run in a slice of this many milliseconds. */
  perSlice(plannedMs: number): number;
  /** Starts that many items, but at most `most`. */
  begin(plannedMs: number, most?: number): void;
  /** Call when everything they do at once is done, promises included. The duration sets how many run next time. */
  end(): void;
  /** Removes the newest waiting items, keeping this many. */
  cut(keep: number): Item[];
};

/** `now` is in milliseconds of a clock that never goes back; `go` starts an item. */
export function createPacedQueue<Item>(now: () => number, go: (item: Item) => void): PacedQueue<Item> {
  /** Started items become undefined, because they may reference much memory. */
  let items: (Item | undefined)[] = [];
  /** The index in `items` of the first waiting item; the same index and the time at the start of the slice. */
  let next = 0;
  let from = 0;
  let begun = 0;
  /** Items per millisecond. */
  let pace = FIRST_PACE;

  function perSlice(plannedMs: number): number {
    return Math.max(1, Math.ceil(pace * plannedMs));
  }

  return {
    push: (item) => void items.push(item),
    size: () => items.length - next,
    oldest: () => items[next],
    perSlice,
    begin(plannedMs, most = Infinity) {
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
    end() {
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
    // These have not started.
    cut: (keep) => items.splice(next + keep) as Item[],
  };
}

/** Until it is measured. */
const FIRST_PACE = 10;

/** A few cheap items must not set the pace for all; expensive ones count sooner. */
function averagePace(pace: number, newest: number): number {
  return (pace + Math.min(newest, 2 * pace)) / 2;
}
