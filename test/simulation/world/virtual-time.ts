import type { Random } from './random.ts';

/** A clock that stands still while anything can run, and then jumps to the next event. */
export type VirtualTime = {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Returns a function that cancels it. The seed determines the order of events at the same time. */
  at(time: number, run: () => void): () => void;
  /** Stops the time until the work is done. */
  hold(work: Promise<void>): void;
  /** Resolves with how many events ran, at the time `until`, or once `isOver` is true. */
  run(until: number, isOver: () => boolean): Promise<number>;
};

type Event = { at: number; tie: number; run: (() => void) | undefined };

export function createVirtualTime(start: number, random: Random): VirtualTime {
  const heap: Event[] = [];
  let now = start;
  let held: Promise<void> | undefined;
  return {
    hold(work) {
      held = work;
    },
    now: () => now,
    at(time, run) {
      const event: Event = { at: Math.max(now, time), tie: random.next(), run };
      push(heap, event);
      return () => {
        event.run = undefined;
      };
    },
    run(until, isOver) {
      let count = 0;
      return new Promise((resolve, reject) => {
        const step = () => {
          try {
            const event = isOver() ? undefined : pop(heap, until);
            if (!event) {
              if (!isOver()) now = until;
              resolve(count);
              return;
            }
            now = event.at;
            count++;
            event.run?.();
          } catch (error) {
            reject(error);
            return;
          }
          const waited = held;
          held = undefined;
          if (waited) void waited.then(step, reject);
          // After all microtasks, including those that they queue.
          else queueMicrotask(() => process.nextTick(step));
        };
        step();
      });
    },
  };
}

function isBefore(one: Event | undefined, other: Event | undefined): boolean {
  if (!one || !other) return false;
  return one.at < other.at || (one.at === other.at && one.tie < other.tie);
}

function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    if (!isBefore(heap[at], heap[above])) return;
    swap(heap, at, above);
    at = above;
  }
}

/** The next event that was not cancelled, unless it comes after `until`. */
function pop(heap: Event[], until: number): Event | undefined {
  for (let first = heap[0]; first; first = heap[0]) {
    if (first.run && first.at > until) return undefined;
    const last = heap.pop();
    if (last && heap.length > 0) sink(heap, last);
    if (first.run) return first;
  }
  return undefined;
}

function sink(heap: Event[], event: Event): void {
  heap[0] = event;
  for (let at = 0; ; ) {
    const [left, right] = [2 * at + 1, 2 * at + 2];
    let least = at;
    if (isBefore(heap[left], heap[least])) least = left;
    if (isBefore(heap[right], heap[least])) least = right;
    if (least === at) return;
    swap(heap, at, least);
    at = least;
  }
}

function swap(heap: Event[], one: number, other: number): void {
  // Both are indices of the heap.
  [heap[one], heap[other]] = [heap[other] as Event, heap[one] as Event];
}
