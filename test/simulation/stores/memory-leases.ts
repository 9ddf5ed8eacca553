import type { TakenLane } from '../../../src/webhooks/delivery/dispatch.ts';
import type { LaneFence } from '../../../src/webhooks/delivery/ownership.ts';
import type { LaneRow, Rows } from './memory-rows.ts';

/** Leases on lanes: a replica owns a lane while the replica is alive by the store's clock. */
export type MemoryLeases = {
  /** Takes the lanes without a living owner, each with a fence above all earlier ones. */
  take(replica: string, webhooks: readonly string[]): TakenLane[];
  /** Extends the replica's life by `LEASE_MS`. False when it had ended: the replica has lost all of its lanes. */
  renew(replica: string): boolean;
  giveBack(replica: string, lanes: readonly LaneFence[]): void;
  /** Stops the replica and frees its lanes. */
  leave(replica: string): void;
  owns(replica: string, webhook: string, fence: number): boolean;
};

export const LEASE_MS = 10_000;
/** After this time a rate's bucket is full again. */
const RATE_MS = 1_000;

/** @param onUnclean called before taking a lane that was not given back */
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
      // It has stopped sending, and others may own them.
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
