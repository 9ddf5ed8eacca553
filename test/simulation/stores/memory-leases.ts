import type { TakenLane } from '../../../src/webhooks/delivery/dispatch.ts';
import type { LaneRow, Rows } from './memory-rows.ts';

/** Leases on lanes: a lane is its replica's while that one is alive by the clock of the store. */
export type MemoryLeases = {
  /** Those of the lanes that are no living replica's, each under a fence above all before it. */
  take(replica: string, webhooks: readonly string[]): TakenLane[];
  /** Lets the replica live for another `LEASE_MS`. False when its time was over: it has none of its lanes any more. */
  renew(replica: string): boolean;
  giveBack(replica: string, lanes: readonly Pick<TakenLane, 'webhook' | 'fence'>[]): void;
  /** The replica stops: all of its lanes are free. */
  leave(replica: string): void;
  owns(replica: string, webhook: string, fence: number): boolean;
};

export const LEASE_MS = 10_000;
/** How long a rate reaches back: a bucket is full again after it. */
const RATE_MS = 1_000;

/** @param onUnclean called with a lane that was not given back before it is taken */
export function createMemoryLeases(rows: Rows, onUnclean: (webhook: string) => void): MemoryLeases {
  const { lanes, replicas } = rows;
  const isAlive = (replica: string | undefined) =>
    replica !== undefined && (replicas.get(replica)?.aliveUntil ?? 0) > rows.now();

  function takeOne(replica: string, webhook: string): TakenLane[] {
    const before: LaneRow = lanes.get(webhook) ?? { replica: undefined, fence: 0, leftAt: -RATE_MS };
    if (before.replica !== replica && isAlive(before.replica)) return [];
    const fence = before.fence + 1;
    if (before.replica !== undefined) onUnclean(webhook);
    lanes.set(webhook, { replica, fence, leftAt: before.leftAt });
    const isInherited = before.replica !== undefined || rows.now() - before.leftAt < RATE_MS;
    const isSuspect = before.replica !== undefined && before.replica !== replica;
    return [{ webhook, fence, isInherited, isSuspect }];
  }

  function free(lane: LaneRow | undefined): void {
    if (lane) Object.assign(lane, { replica: undefined, leftAt: rows.now() });
  }

  const owns = (replica: string, webhook: string, fence: number): boolean => {
    const lane = lanes.get(webhook);
    return lane?.replica === replica && lane.fence === fence;
  };

  return {
    take: (replica, webhooks) => webhooks.flatMap((webhook) => takeOne(replica, webhook)),
    renew(replica) {
      const wasAlive = !replicas.has(replica) || isAlive(replica);
      replicas.set(replica, { aliveUntil: rows.now() + LEASE_MS });
      if (wasAlive) return true;
      // It has stopped sending, and others may have taken them.
      for (const lane of lanes.values()) if (lane.replica === replica) lane.fence++;
      return false;
    },
    giveBack(replica, given) {
      for (const { webhook, fence } of given) if (owns(replica, webhook, fence)) free(lanes.get(webhook));
    },
    leave(replica) {
      for (const lane of lanes.values()) if (lane.replica === replica) free(lane);
      replicas.delete(replica);
    },
    owns,
  };
}
