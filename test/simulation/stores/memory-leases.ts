import { lanes as limits } from '../../../src/limits.ts';
import type { LaneOfStore } from '../../../src/webhooks/delivery/leases.ts';
import type { LaneFence } from '../../../src/webhooks/delivery/ownership.ts';
import type { LaneRow, Rows } from './memory-rows.ts';

/** What leases need of a store, in memory: the methods of `LeaseStore`, each of them one transaction, at once. */
export type MemoryLeases = {
  renew(replica: string, of: { isBegun: boolean; dispatches: boolean }): boolean;
  members(): string[];
  take(replica: string, webhooks: readonly string[]): LaneOfStore[];
  giveBack(replica: string, lanes: readonly LaneFence[], isUsed: boolean): void;
  end(replica: string): void;
  owns(replica: string, webhook: string, fence: number): boolean;
  /** Whether a live replica other than this one owns the lane. */
  isOfAnother(replica: string, webhook: string): boolean;
};

/** The owner of a lane that was given back, while its rate may have been used just now. */
const USED = '';

/** @param onUnclean called before taking a lane that was not given back */
export function createMemoryLeases(rows: Rows, onUnclean: (webhook: string) => void): MemoryLeases {
  const { lanes, replicas } = rows;
  const isAlive = (replica: string) => (replicas.get(replica)?.aliveUntil ?? 0) > rows.now();

  function isOfAnother(replica: string, webhook: string): boolean {
    const owner = lanes.get(webhook)?.replica;
    return owner !== undefined && owner !== replica && isAlive(owner);
  }

  function takeOne(replica: string, webhook: string): LaneOfStore[] {
    if (rows.webhooks.get(webhook)?.status !== 'enabled' || isOfAnother(replica, webhook)) return [];
    const before: LaneRow = lanes.get(webhook) ?? { replica: undefined, fence: 0 };
    const fence = before.fence + 1;
    const leftBy = before.replica === USED ? undefined : before.replica;
    if (leftBy !== undefined) onUnclean(webhook);
    lanes.set(webhook, { replica, fence });
    return [{ webhook, fence, isInherited: before.replica !== undefined, leftBy }];
  }

  function owns(replica: string, webhook: string, fence: number): boolean {
    const lane = lanes.get(webhook);
    return lane?.replica === replica && lane.fence === fence;
  }

  return {
    renew(replica, { isBegun, dispatches }) {
      if (isBegun && !isAlive(replica)) return false;
      replicas.set(replica, { aliveUntil: rows.now() + limits.leaseMs, dispatches });
      return true;
    },
    members: () => [...replicas].flatMap(([id, { dispatches }]) => (dispatches && isAlive(id) ? [id] : [])),
    take: (replica, webhooks) => webhooks.flatMap((webhook) => takeOne(replica, webhook)),
    giveBack(replica, given, isUsed) {
      for (const { webhook, fence } of given) {
        if (owns(replica, webhook, fence)) lanes.set(webhook, { replica: isUsed ? USED : undefined, fence });
      }
    },
    end: (replica) => void replicas.delete(replica),
    owns,
    isOfAnother,
  };
}
