import type { Clock } from '../../src/runtime.ts';
import type { TakenLane } from '../../src/webhooks/delivery/dispatch.ts';
import type { LaneFence } from '../../src/webhooks/delivery/ownership.ts';
import type { LaneOwners } from '../../src/webhooks/delivery/runner.ts';
import { pause } from '../../src/webhooks/delivery/timers.ts';
import type { Process } from './process.ts';
import type { Calls } from './stores/calls.ts';
import { LEASE_MS, type MemoryLeases } from './stores/memory-leases.ts';

/** A replica's hold on lanes. */
export type LeaseOwners = LaneOwners & {
  /** The replica's estimate of the store's time; it never goes back. */
  clock: Clock;
  /** Resolves when the replica may take lanes. */
  ready: Promise<void>;
  /** Gives back all lanes. */
  stop(): Promise<void>;
  held(): number;
  /** Hands all lanes over; returns the current ones. */
  leave(): LaneFence[];
  owns(lane: LaneFence): boolean;
};

const RENEW_MS = LEASE_MS / 3;
const RENEW_AGAIN_MS = 500;
/** A replica that could not renew gives up its lanes this long before the lease ends. */
const MARGIN_MS = 1_000;
/** An answer slower than this is too imprecise to set the clock. */
const CLOCK_ANSWER_MS = 40;

export function createLeaseOwners(
  process: Process,
  { call }: Calls,
  leases: MemoryLeases,
  now: () => number,
  onHandOver: (webhooks: readonly string[]) => void,
): LeaseOwners {
  const { timers, name: replica } = process;
  const held = new Map<string, number>();
  const stopped = new AbortController();
  const ready = Promise.withResolvers<void>();
  const listeners: ((webhooks: readonly string[]) => void)[] = [];
  const leaveListeners: ((webhooks: readonly string[]) => void)[] = [];
  let deadline = Number.NEGATIVE_INFINITY;
  let cancelDeadline = () => {};
  /** Increases when all lanes are lost: earlier ones no longer count. */
  let epoch = 0;
  let last = Promise.resolve();
  let offset = 0;
  let shown = Number.NEGATIVE_INFINITY;

  /** Serialises calls: a lane given back while it is taken would belong to nobody. */
  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const result = last.then(run);
    last = result.then(
      () => {},
      () => {},
    );
    return result;
  }

  function loseAll(): void {
    const webhooks = [...held.keys()];
    held.clear();
    epoch++;
    for (const listener of listeners) listener(webhooks);
  }

  async function renew(): Promise<number> {
    const begin = timers.elapsed();
    const wall = process.clock.now();
    const { isOn, storeNow } = await call(() => ({ isOn: leases.renew(replica), storeNow: now() }));
    const tookMs = timers.elapsed() - begin;
    if (!isOn) loseAll();
    if (tookMs < CLOCK_ANSWER_MS) {
      offset = storeNow - (wall + tookMs / 2);
      ready.resolve();
    }
    deadline = begin + LEASE_MS - MARGIN_MS;
    cancelDeadline();
    cancelDeadline = timers.later(loseAll, deadline - timers.elapsed());
    return tookMs < CLOCK_ANSWER_MS ? RENEW_MS : RENEW_AGAIN_MS;
  }

  async function beat(): Promise<void> {
    while (!stopped.signal.aborted) {
      const wait = await renew().catch(() => RENEW_AGAIN_MS);
      await pause(timers, wait, stopped.signal);
    }
  }

  async function take(webhooks: readonly string[]): Promise<TakenLane[]> {
    const mine = webhooks.flatMap((webhook) => {
      const fence = held.get(webhook);
      return fence === undefined ? [] : [{ webhook, fence, isInherited: false, isSuspect: false }];
    });
    const others = webhooks.filter((webhook) => !held.has(webhook));
    if (others.length === 0) return mine;
    if (timers.elapsed() >= deadline) throw new Error('The replica is not alive.');
    const before = epoch;
    const taken = await call(() => leases.take(replica, others));
    if (epoch !== before || timers.elapsed() >= deadline) throw new Error('The replica was not alive.');
    for (const { webhook, fence } of taken) held.set(webhook, fence);
    return [...mine, ...taken];
  }

  const beating = beat();
  return {
    take: (webhooks) => inTurn(() => take(webhooks)),
    giveBack: (webhooks, isUsed) =>
      inTurn(async () => {
        const given = webhooks.flatMap((webhook) => {
          const fence = held.get(webhook);
          return fence === undefined ? [] : [{ webhook, fence }];
        });
        for (const { webhook } of given) held.delete(webhook);
        await call(() => leases.giveBack(replica, given));
        if (isUsed) onHandOver(webhooks);
      }),
    onLost: (listener) => void listeners.push(listener),
    onLeave: (listener) => void leaveListeners.push(listener),
    leave() {
      const leaving = [...held].map(([webhook, fence]) => ({ webhook, fence }));
      for (const listener of leaveListeners) listener(leaving.map(({ webhook }) => webhook));
      return leaving;
    },
    owns: ({ webhook, fence }) => held.get(webhook) === fence,
    clock: {
      now: () => {
        shown = Math.max(shown, Math.floor(process.clock.now() + offset));
        return shown;
      },
    },
    ready: ready.promise,
    async stop() {
      stopped.abort();
      cancelDeadline();
      await beating;
      await inTurn(() => call(() => leases.leave(replica))).catch(() => {});
    },
    check() {
      if (held.size > 0 && timers.elapsed() >= deadline) loseAll();
    },
    held: () => held.size,
  };
}
