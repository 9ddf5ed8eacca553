import type { Process } from '../process.ts';
import type { Random } from '../world/random.ts';
import type { Scenario } from '../world/scenario.ts';
import type { VirtualTime } from '../world/virtual-time.ts';

/** A process's calls to the store, with possible faults on the way there and back. */
export type Calls = {
  /** Runs the transaction a little later, unless a fault prevents it, and answers later still. */
  call<T>(transaction: () => T, of?: { isRead: boolean }): Promise<T>;
};

export type CallParts = {
  process: Process;
  time: VirtualTime;
  scenario: Scenario;
  random: Random;
  /** While this is true, no call of any process succeeds. */
  isOut(now: number): boolean;
  onFault(): void;
  /** Called for a commit with an unknown outcome: the embedded service must stop. */
  onUnknown(): void;
};

/** The longest times that faults add to an answer. */
export const STALLED_MS = 12_000;
export const SLOW_MS = 2_000;

export function createCalls({
  process,
  time,
  scenario,
  random,
  isOut,
  onFault,
  onUnknown,
}: CallParts): Calls {
  const { faults, isEmbedded, start, busyMs } = scenario;
  const isBusy = () => time.now() < start + busyMs;

  function draw(isRead: boolean): 'none' | 'refused' | 'lost answer' | 'stalled' | 'stale' {
    if (!isBusy()) return 'none';
    if (random.chance(faults.refused)) return 'refused';
    if (!isRead && random.chance(faults.lostAnswer)) return 'lost answer';
    if (random.chance(faults.stalled)) return 'stalled';
    return isRead && random.chance(faults.stale) ? 'stale' : 'none';
  }

  return {
    call: (transaction, { isRead } = { isRead: false }) =>
      new Promise((resolve, reject) => {
        const fault = draw(isRead);
        if (fault !== 'none' && fault !== 'stale') onFault();
        const there = random.whole(0, 5) + (fault === 'stalled' ? random.whole(500, STALLED_MS) : 0);
        const back = random.whole(0, 5) + (fault === 'stale' ? random.whole(20, SLOW_MS) : 0);
        time.at(time.now() + there, () => {
          if (isEmbedded && !process.isAlive()) return;
          const reply = (run: () => void) => void time.at(time.now() + back, () => process.enter(run));
          if (fault === 'refused' || isOut(time.now())) {
            onFault();
            reply(() => reject(new Error('The store is not available.')));
            return;
          }
          const value = transaction();
          if (fault !== 'lost answer') reply(() => resolve(value));
          else if (isEmbedded) onUnknown();
          else reply(() => reject(new Error('The connection was lost.')));
        });
      }),
  };
}
