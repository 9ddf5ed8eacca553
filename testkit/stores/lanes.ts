import { silentLog } from '../../src/runtime.ts';
import { openLanes } from '../../src/sender/open-lanes.ts';
import type { LaneParts, Lanes } from '../../src/store/lane-threads.ts';
import type { Store } from '../../src/store/store.ts';

/** Opens the lanes of a store like the sender thread. They close before the store. */
export function lanesOf(store: Store, more: Partial<LaneParts> = {}): Promise<Lanes> {
  return openLanes(store.lanes.connect(), {
    log: silentLog,
    isCareful: false,
    couldNotRead() {},
    ...more,
  });
}
