/** Whom to wake, and when: a heap that skips outdated entries. */
export type Wakes<T> = {
  /** Wakes at this time instead of an earlier set one. */
  set(one: T, at: number): void;
  clear(one: T): void;
  at(one: T): number | undefined;
  /** Removes and returns those whose time has come, earliest first. */
  due(now: number): T[];
  /** The earliest time. */
  next(): number | undefined;
};

/** How many outdated entries may stay. */
const SPARE = 64;

type Entry<T> = { at: number; one: T };

export function createWakes<T>(): Wakes<T> {
  const heap: Entry<T>[] = [];
  const current = new Map<T, Entry<T>>();

  function dropStale(): void {
    for (let first = heap[0]; first && current.get(first.one) !== first; first = heap[0]) pop(heap);
  }

  function compact(): void {
    const all = [...current.values()].sort((one, other) => one.at - other.at);
    heap.splice(0, heap.length, ...all);
  }

  return {
    set(one, at) {
      if (current.get(one)?.at === at) return;
      const entry = { at, one };
      current.set(one, entry);
      push(heap, entry);
      if (heap.length > 2 * current.size + SPARE) compact();
    },
    clear: (one) => void current.delete(one),
    at: (one) => current.get(one)?.at,
    due(now) {
      const found: T[] = [];
      for (dropStale(); heap[0] && heap[0].at <= now; dropStale()) {
        const { one } = heap[0];
        pop(heap);
        current.delete(one);
        found.push(one);
      }
      return found;
    },
    next() {
      dropStale();
      return heap[0]?.at;
    },
  };
}

function push<T>(heap: Entry<T>[], entry: Entry<T>): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(heap, at, parent)) return;
    swap(heap, at, parent);
    at = parent;
  }
}

function pop<T>(heap: Entry<T>[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  for (let at = 0; ; ) {
    const [left, right] = [2 * at + 1, 2 * at + 2];
    let first = at;
    if (left < heap.length && isBefore(heap, left, first)) first = left;
    if (right < heap.length && isBefore(heap, right, first)) first = right;
    if (first === at) return;
    swap(heap, at, first);
    at = first;
  }
}

function isBefore<T>(heap: readonly Entry<T>[], one: number, other: number): boolean {
  return (heap[one]?.at ?? 0) < (heap[other]?.at ?? 0);
}

function swap<T>(heap: Entry<T>[], one: number, other: number): void {
  // Both are indexes of the heap.
  [heap[one], heap[other]] = [heap[other] as Entry<T>, heap[one] as Entry<T>];
}
