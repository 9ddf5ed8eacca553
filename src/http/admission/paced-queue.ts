/** Work that waits in a row, of which as much goes on at a time as fits into a slice of time. */
export type PacedQueue<Item> = {
  push(item: Item): void;
  size(): number;
  /** The one that waits longest. */
  oldest(): Item | undefined;
  /** How many go on in a slice of so many milliseconds. */
  perSlice(plannedMs: number): number;
  /** Lets as many go on, but no more than `most`. */
  begin(plannedMs: number, most?: number): void;
  /** Called when all that they do at once is done, in promises too: how long it took tells how many fit the next time. */
  end(): void;
  /** Takes those out that came last, but so many of those that wait. */
  cut(keep: number): Item[];
};

/** `now` is in milliseconds, of a clock that never goes back; `go` lets one go on. */
export function createPacedQueue<Item>(now: () => number, go: (item: Item) => void): PacedQueue<Item> {
  /** Undefined where they have gone on: what one leads to may be large. */
  let items: (Item | undefined)[] = [];
  /** Where in `items` those begin that wait; where they did when the slice began, and when that was. */
  let next = 0;
  let from = 0;
  let begun = 0;
  /** What goes on in a millisecond. */
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
        // There is one at every place from `next` on.
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
    // These have not gone on.
    cut: (keep) => items.splice(next + keep) as Item[],
  };
}

/** Until it is known better. */
const FIRST_PACE = 10;

/** A few that happen to be cheap must not look like the pace of all; what is dear is believed sooner. */
function averagePace(pace: number, newest: number): number {
  return (pace + Math.min(newest, 2 * pace)) / 2;
}
