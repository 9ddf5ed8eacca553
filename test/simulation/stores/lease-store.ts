import type { LeaseStore } from '../../../src/webhooks/delivery/leases.ts';
import type { Timers } from '../../../src/webhooks/delivery/timers.ts';
import type { Calls } from './calls.ts';
import type { MemoryLeases } from './memory-leases.ts';

export type LeaseCalls = {
  calls: Calls;
  leases: MemoryLeases;
  timers: Timers;
  /** Told the store's time with each look at the members. */
  clock: { heard(time: number, sentAt: number, heardAt: number): void };
  now(): number;
};

/** The leases as one replica reaches them. */
export function leaseStoreOf({ calls: { call }, leases, timers, clock, now }: LeaseCalls): LeaseStore {
  return {
    renew: (replica, of) => call(() => leases.renew(replica, of)),
    async members() {
      const askedAt = timers.elapsed();
      const look = () => ({ members: leases.members(), time: now() });
      const { members, time } = await call(look, { isRead: true });
      clock.heard(time, askedAt, timers.elapsed());
      return members;
    },
    take: (replica, webhooks) => call(() => leases.take(replica, webhooks)),
    giveBack: (replica, lanes, isUsed) => call(() => leases.giveBack(replica, lanes, isUsed)),
    end: (replica) => call(() => leases.end(replica)),
  };
}
