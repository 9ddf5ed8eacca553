import { after, before, describe } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import { type Given, type GivenLanes, given } from '../../../testkit/stores/given.ts';
import { accessConformance } from './access.ts';
import { activityConformance } from './activity.ts';
import { allDeliveriesConformance } from './all-deliveries.ts';
import { assignedIdsConformance } from './assigned-ids.ts';
import { deliveriesConformance } from './deliveries.ts';
import { eventsConformance } from './events.ts';
import { keysConformance } from './keys.ts';
import { laneEventsConformance } from './lane-events.ts';
import { lanesConformance } from './lanes.ts';
import { listsConformance } from './lists.ts';
import { newerConformance } from './newer.ts';
import { ordersConformance } from './orders.ts';
import { outcomesConformance } from './outcomes.ts';
import { plantsConformance } from './plants.ts';
import { readingsConformance } from './readings.ts';
import { resendsConformance } from './resends.ts';
import { sharesConformance } from './shares.ts';
import { usersConformance } from './users.ts';
import { webhooksConformance } from './webhooks.ts';

/**
 * Opens an empty store that is dropped after the tests. `change` runs SQL directly, without the checks of events and
 * deliveries, as a newer version may. `fenceOf` takes a lane if lanes have owners.
 */
export type Adapter = { name: string; open(): Promise<Opened> };
type Opened = GivenLanes & {
  store: Store;
  change(sql: string): Promise<void>;
  drop(): Promise<void>;
};

/** The tests that every adapter must pass. */
export function storeConformance({ name, open }: Adapter): void {
  describe(`the ${name} store`, () => {
    let opened: Opened;
    let ready: Given;
    before(async () => {
      opened = await open();
      ready = given(opened.store, opened);
    });
    after(() => opened.drop());

    plantsConformance(() => ready);
    assignedIdsConformance(
      () => ready,
      (sql) => opened.change(sql),
    );
    listsConformance(() => ready);
    ordersConformance(
      () => ready,
      (sql) => opened.change(sql),
    );
    accessConformance(() => ready);
    usersConformance(() => ready);
    sharesConformance(() => ready);
    keysConformance(() => ready);
    webhooksConformance(() => ready);
    lanesConformance(() => ready);
    laneEventsConformance(
      () => ready,
      (sql) => opened.change(sql),
    );
    outcomesConformance(() => ready);
    deliveriesConformance(() => ready);
    resendsConformance(() => ready);
    allDeliveriesConformance(() => ready);
    eventsConformance(() => ready);
    activityConformance(() => ready);
    readingsConformance(() => ready);
    newerConformance(
      () => ready,
      (sql) => opened.change(sql),
    );
  });
}
