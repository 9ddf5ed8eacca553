import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

/** What a replica of a newer version may write beside this one, in the middle of an update. */
export function newerConformance(ready: () => Given, change: (sql: string) => Promise<void>): void {
  /** A user with one webhook, and an event with its delivery for each type. Gives the ids of the events. */
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

  describe('what only a newer version knows', () => {
    test('the feed leaves out events of an unknown type, and fills its pages with those behind', async () => {
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
          // Whoever asks on gets nothing twice, and nothing is missing in between.
          isEnd = page.events.length < limit;
          after = page.next;
        }
        assert.deepEqual(seen, known);
      }
      const after = await store.events.latestPosition(owner);
      assert.deepEqual((await store.events.events({ viewer: owner, after, limit: 9 }))?.events, []);
    });

    test('an event of an unknown type is not sent, and waits as it was for who can', async () => {
      const { due, create, ids } = ready();
      const { owner, hook, events } = await eventsOf(UNKNOWN, KNOWN, UNKNOWN);
      const sent: string[] = [];
      // Looking again changes nothing.
      for (const now of [AT, AT + 1, AT + 5000]) {
        const found = await due(hook, { now });
        sent.push(...found.map(({ event }) => event.id));
        for (const one of found) await ready().record(outcomeOf(one));
      }
      assert.deepEqual(sent, [events[1]]);
      await change(`UPDATE events SET type = '${KNOWN}' WHERE owner = ${owner}`);
      const { deliveries } = ready().store.deliveries;
      const waiting = await deliveries({ webhook: hook, state: 'pending', before: undefined, limit: 9 });
      assert.deepEqual(
        waiting.map(({ event, attempts, nextAttemptAt }) => [event.id, attempts, nextAttemptAt]),
        [
          [events[2], 0, AT],
          [events[0], 0, AT],
        ],
      );
      // One more tells this replica that something is due, as the newer one knows.
      const last = ids.next('evt');
      await create(owner, undefined, { event: last });
      const found = await due(hook, { now: AT + 9000 });
      assert.deepEqual(
        found.map(({ event, generation }) => [event.id, generation]),
        [events[0], events[2], last].map((event) => [event, 0]),
      );
    });

    test('events of an unknown type do not hold up those behind them', async () => {
      const many = Array.from({ length: 7 }, () => UNKNOWN);
      const { hook, events } = await eventsOf(...many, KNOWN);
      const found = await ready().due(hook, { limit: 1 });
      assert.deepEqual(
        found.map(({ event }) => event.id),
        [events.at(-1)],
      );
    });

    test('a list of deliveries leaves out those of an unknown type, and fills its pages', async () => {
      const { deliveries, delivery } = ready().store.deliveries;
      const { hook, events } = await eventsOf(KNOWN, UNKNOWN, KNOWN, UNKNOWN, KNOWN);
      for (const state of [undefined, 'pending'] as const) {
        const listed = await deliveries({ webhook: hook, state, before: undefined, limit: 2 });
        assert.deepEqual(
          listed.map(({ event }) => event.id),
          [events[4], events[2]],
        );
      }
      assert.equal(await delivery(hook, events[1] ?? ''), undefined);
    });

    test('a delivery in an unknown state is not taken for a delivered one', async () => {
      const { deliveries } = ready().store;
      const { hook, events } = await eventsOf(KNOWN);
      await change(`UPDATE deliveries SET state = 'parked' WHERE webhook = '${hook}'`);
      await assert.rejects(async () => deliveries.delivery(hook, events[0] ?? ''), /parked/);
    });
  });
}
