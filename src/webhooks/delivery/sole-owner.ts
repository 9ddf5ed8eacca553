import { delivery as limits } from '../../limits.ts';
import { type LaneOwners, workIn } from './deliver.ts';
import type { LaneStore } from './port.ts';

/** After this time the bucket of any rate is full again. It counts from the sender thread's start, with the first work. */
const REFILL_MS = 1_000;

/**
 * Owns every lane: no other process sends from this store.
 * @param isCareful whether the previous process died, possibly because of what it sent: lanes that have work now are
 *   suspect until they are first taken
 * @param elapsed the monotonic time, in milliseconds
 */
export function soleOwner(
  store: Pick<LaneStore, 'findWork'>,
  isCareful: boolean,
  elapsed = () => performance.now(),
): LaneOwners {
  const begunAt = elapsed();
  let suspects = isCareful ? undefined : new Set<string>();
  return {
    async take(webhooks) {
      const found = suspects ?? (await lanesWithWork(store));
      // Another call may have found them, and taken some, meanwhile.
      suspects ??= found;
      const left = suspects;
      // However the previous process ended, it may just have used the rate.
      const isInherited = elapsed() - begunAt < REFILL_MS;
      return webhooks.map((webhook) => {
        const isSuspect = left.delete(webhook);
        return { webhook, fence: 0, isInherited: isInherited || isSuspect, isSuspect };
      });
    },
    giveBack: async () => {},
    mayServe: () => true,
    drain: async () => {},
    stop: async () => {},
  };
}

async function lanesWithWork(store: Pick<LaneStore, 'findWork'>): Promise<Set<string>> {
  const found = await Array.fromAsync(workIn(store, limits.searchedTogether));
  return new Set(found.flat().map(({ webhook }) => webhook));
}
