/** Whom to wake, and when. */
export function createWakes<T>() {
  const times = new Map<T, number>();
  const byTime = new Map<number, Set<T>>();
  /** The earliest is last. Only numbers: V8 moves them many times faster than objects. */
  const sorted: number[] = [];

  function clear(one: T): void {
    const at = times.get(one);
    const together = at === undefined ? undefined : byTime.get(at);
    if (at === undefined || !together) return;
    times.delete(one);
    together.delete(one);
    if (together.size > 0) return;
    byTime.delete(at);
    sorted.splice(placeOf(sorted, at), 1);
  }

  return {
    /** Wakes at this time instead of an earlier set one. */
    set(one: T, at: number): void {
      if (times.get(one) === at) return;
      clear(one);
      times.set(one, at);
      if (!byTime.has(at)) sorted.splice(placeOf(sorted, at), 0, at);
      byTime.getOrInsertComputed(at, () => new Set()).add(one);
    },
    clear,
    at: (one: T) => times.get(one),
    /** Removes and returns those whose time has come, earliest first. */
    due(now: number): T[] {
      const found: T[] = [];
      for (let at = sorted.at(-1); at !== undefined && at <= now; at = sorted.at(-1)) {
        for (const one of byTime.get(at) ?? []) {
          times.delete(one);
          found.push(one);
        }
        byTime.delete(at);
        sorted.pop();
      }
      return found;
    },
    /** The earliest time. */
    next: () => sorted.at(-1),
  };
}

/** Where the time is or belongs: after all later ones. */
function placeOf(sorted: readonly number[], at: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (Number(sorted[middle]) > at) low = middle + 1;
    else high = middle;
  }
  return low;
}
