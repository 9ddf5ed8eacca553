import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deliveriesTo, deliveryTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

/** Rows that a replica of a newer version may write during an update. */
export function newerConformance(ready: () => Given, change: (sql: string) => Promise<void>): void {
  /** Creates a user with a webhook, and an event with a delivery for each type. Returns the events' ids. */
  async function eventsOf(...types: string[]) {
    const { ids, create, subscriber } = ready();
    const { owner, hook } = await subscriber(0);
    const events: string[] = [];
    for (const type of types) {
      const event = ids.next('evt');
      await create(owner, undefined, { event });
      await change(`UPDATE events SET type = '${type}' WHERE owner = ${owner} AND id = '${event}'`);
      events.push(event);
    }
    return { owner, hook, events };
  }

  const KNOWN = 'plant.created';
  const UNKNOWN = 'plant.moved';

  describe('unknown rows of a newer version', () => {
    test('the feed omits events of an unknown type, and fills its pages with later ones', async () => {
      const { store } = ready();
      const { owner, events } = await eventsOf(UNKNOWN, KNOWN, UNKNOWN, UNKNOWN, KNOWN, KNOWN, UNKNOWN);
      const known = [events[1], events[4], events[5]];
      for (const limit of [1, 2, 3, 4]) {
        const seen: string[] = [];
        let after: string | undefined;
        for (let isEnd = false; !isEnd; ) {
          const page = await store.events.events({ viewer: owner, after, limit });
          assert.ok(page);
          seen.push(...page.events.map(({ id }) => id));
          // The next page repeats nothing and omits nothing.
          isEnd = page.events.length < limit;
          after = page.next;
        }
        assert.deepEqual(seen, known);
      }
      const after = await store.events.latestPosition(owner);
      assert.deepEqual((await store.events.events({ viewer: owner, after, limit: 9 }))?.events, []);
    });

    test('an event of an unknown type is not sent, and waits unchanged for a newer replica', async () => {
      const { due, create, ids } = ready();
      const { owner, hook, events } = await eventsOf(UNKNOWN, KNOWN, UNKNOWN);
      const sent: string[] = [];
      // Reading repeatedly changes nothing.
      for (const now of [AT, AT + 1, AT + 5000]) {
        const found = await due(hook, { now });
        sent.push(...found.map(({ event }) => event.id));
        for (const one of found) await ready().record(outcomeOf(one));
      }
      assert.deepEqual(sent, [events[1]]);
      await change(`UPDATE events SET type = '${KNOWN}' WHERE owner = ${owner}`);
      const waiting = await deliveriesTo(ready().store, { owner, id: hook }, { state: 'pending' });
      assert.deepEqual(
        waiting.map(({ event, attempts, nextAttemptAt }) => [event.id, attempts, nextAttemptAt]),
        [
          [events[2], 0, AT],
          [events[0], 0, AT],
        ],
      );
      // Another event tells this replica that something is due, as the newer one would.
      const last = ids.next('evt');
      await create(owner, undefined, { event: last });
      const found = await due(hook, { now: AT + 9000 });
      assert.deepEqual(
        found.map(({ event, generation }) => [event.id, generation]),
        [events[0], events[2], last].map((event) => [event, 0]),
      );
    });

    test('events of an unknown type do not hold up later ones', async () => {
      const many = Array.from({ length: 7 }, () => UNKNOWN);
      const { hook, events } = await eventsOf(...many, KNOWN);
      const found = await ready().due(hook, { limit: 1 });
      assert.deepEqual(
        found.map(({ event }) => event.id),
        [events.at(-1)],
      );
    });

    test('a list of deliveries omits those of an unknown type, and fills its pages', async () => {
      const { store } = ready();
      const { owner, hook, events } = await eventsOf(KNOWN, UNKNOWN, KNOWN, UNKNOWN, KNOWN);
      for (const state of [undefined, 'pending'] as const) {
        const listed = await deliveriesTo(store, { owner, id: hook }, { state, limit: 2 });
        assert.deepEqual(
          listed.map(({ event }) => event.id),
          [events[4], events[2]],
        );
      }
      assert.equal(await deliveryTo(store, owner, hook, events[1] ?? ''), undefined);
    });

    test('a delivery in an unknown state does not count as delivered', async () => {
      const { owner, hook, events } = await eventsOf(KNOWN);
      await change(`UPDATE deliveries SET state = 'parked' WHERE webhook = '${hook}'`);
      await assert.rejects(deliveryTo(ready().store, owner, hook, events[0] ?? ''), /parked/);
    });
  });
}
