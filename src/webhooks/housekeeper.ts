import { setTimeout as pause } from 'node:timers/promises';
import { chores } from '../limits.ts';
import { firstId, type Runtime } from '../runtime.ts';
import type { ChoreStore, ExpiryPosition } from './port.ts';

export type HousekeeperParts = {
  store: ChoreStore;
  runtime: Runtime;
  /** How long events are kept, with their deliveries and attempts. An event with a pending delivery is kept longer. */
  retentionDays: number;
  bounds?: Partial<Record<keyof typeof chores, number>>;
};

const DAY = 24 * 60 * 60 * 1000;

/**
 * Does the long work in slices: replays, and removing the data of deleted webhooks, users and shares and expired
 * events. Each slice is a short transaction followed by a pause, so that nobody waits for it. After a kill, the work
 * continues at the next start.
 */
export function startHousekeeper({ store, runtime, retentionDays, ...parts }: HousekeeperParts) {
  const { clock, log } = runtime;
  const bounds = { ...chores, ...parts.bounds };
  const stopping = new AbortController();
  const { signal } = stopping;

  async function every(ms: number, what: string, work: () => Promise<void>): Promise<void> {
    let hasFailed = false;
    while (!signal.aborted) {
      try {
        await work();
        hasFailed = false;
        await wait(ms);
      } catch (error) {
        // A store that is down fails this often per minute, for the same reason.
        if (!hasFailed) log.warn({ err: error }, `could not ${what}; retrying`);
        hasFailed = true;
        await wait(bounds.pollMs);
      }
    }
  }

  async function advance(): Promise<void> {
    while (!signal.aborted && (await store.hasChores(clock.now()))) {
      if (!(await store.advance({ now: clock.now(), limit: bounds.slice }))) return;
      await wait(bounds.pauseMs);
    }
  }

  async function expire(): Promise<void> {
    const before = firstId('evt', clock.now() - retentionDays * DAY);
    let from: ExpiryPosition | undefined;
    do {
      from = await store.removeExpired({ before, from, limit: bounds.slice });
      await wait(bounds.pauseMs);
    } while (from && !signal.aborted);
  }

  const wait = (ms: number) => pause(ms, undefined, { signal }).catch(() => {});
  const work = Promise.all([
    every(bounds.pollMs, 'continue a replay or a removal', advance),
    every(bounds.retentionEveryMs, 'remove expired events', expire),
  ]);
  return {
    /** Resolves when the current slice is done. May be called twice. Close the store after it. */
    async stop(): Promise<void> {
      stopping.abort();
      await work;
    },
  };
}
