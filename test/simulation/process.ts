import type { Timers } from '../../src/webhooks/delivery/timers.ts';
import type { Random } from './world/random.ts';
import type { VirtualTime } from './world/virtual-time.ts';

/**
 * A process and its machine. Everything it does starts in `enter`: never again once it was killed, and later if it is
 * frozen.
 */
export type Process = {
  readonly name: string;
  isAlive(): boolean;
  isFrozen(): boolean;
  enter(run: () => void): void;
  kill(): void;
  freeze(ms: number): void;
  timers: Timers;
};

/** How much too fast or slow the clocks of machines are. */
const DRIFT = 1e-4;

export function createProcess(name: string, time: VirtualTime, random: Random): Process {
  const begin = time.now();
  const drift = DRIFT * (2 * random.next() - 1);
  let isAlive = true;
  let frozen: (() => void)[] | undefined;

  function enter(run: () => void): void {
    if (!isAlive) return;
    if (frozen) frozen.push(run);
    else run();
  }

  function thaw(): void {
    const waiting = frozen ?? [];
    frozen = undefined;
    for (const run of waiting) enter(run);
  }

  const elapsed = () => (time.now() - begin) * (1 + drift);
  const later = (run: () => void, ms: number) => time.at(time.now() + Math.max(0, ms), () => enter(run));
  return {
    name,
    isAlive: () => isAlive,
    isFrozen: () => frozen !== undefined,
    enter,
    kill() {
      isAlive = false;
    },
    freeze(ms) {
      if (frozen || !isAlive) return;
      frozen = [];
      time.at(time.now() + ms, thaw);
    },
    timers: { elapsed, later, soon: (run) => void later(run, 0) },
  };
}
