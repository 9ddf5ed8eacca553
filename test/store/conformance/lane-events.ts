import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

/** How deliveries follow the plants and events that the store keeps. */
export function laneEventsConformance(ready: () => Given, change: (sql: string) => Promise<void>): void {
  describe("a lane's events", () => {
    test('a delivery is read with the keys of its webhook', async () => {
      const { due } = ready();
      const { hook } = await ready().subscriber(1);
      const [made] = await due(hook);
      assert.deepEqual([made?.webhook.secrets, made?.webhook.privateKey], [['whsec_x'], 'whsk_x']);
    });

    test('a refused plant has no event and no delivery', async () => {
      const { store, plant, due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await store.plants.create(plant(owner, { id: 1n }));
      assert.equal((await due(hook)).length, 1);
    });

    test("an event's trace comes with its delivery, however often it is read", async () => {
      const { store, plant, due, ids } = ready();
      const { owner, hook } = await ready().subscriber(0);
      const trace = (n: number) => `00-${String(n).repeat(32)}-${'a'.repeat(16)}-01`;
      const caller = { user: owner, hasLeft: () => false, once: undefined };
      // With a chosen and an assigned id; in a trace with a state, and without a trace.
      await store.plants.create(plant(owner, { trace: trace(1) }), caller);
      await store.plants.create(plant(owner, { id: 7n, trace: `${trace(2)} a=1,b=2` }), caller);
      await store.plants.create(plant(owner), caller);
      const event = { id: ids.next('evt'), type: 'plant.test', at: AT } as const;
      const test = { ...event, plant: { id: 0n, name: 'Alder', tag: undefined } };
      await store.deliveries.createTest({ owner, webhook: hook, event: test, due: AT, trace: trace(4) });
      const next = { state: 'pending', due: AT + 1, step: 1 } as const;
      for (const now of [AT, AT + 1]) {
        const found = await due(hook, { now });
        const traces = new Map(found.map((made) => [made.event.id, made.trace]));
        const expected = [trace(1), `${trace(2)} a=1,b=2`, undefined, trace(4)];
        assert.deepEqual(
          [...traces].sort().map(([, kept]) => kept),
          expected,
        );
        const [first] = found;
        assert.ok(first);
        await ready().record(outcomeOf(first, { next, reason: 'no' }));
      }
    });

    test('a deleted plant is still announced', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await store.plants.delete(owner, 1n);
      assert.equal((await due(hook))[0]?.event.plant.name, 'Alder');
    });

    test('a delivery whose event is missing is given up, and does not hold up later ones', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(4);
      const [first, second, third, fourth] = (await due(hook)).map(({ event }) => event.id);
      assert.ok(first && second && third);
      await store.deliveries.redeliver({ owner, webhook: hook, event: third, at: AT });
      await change(`DELETE FROM events WHERE owner = ${owner} AND id IN ('${first}', '${third}')`);
      const request = { webhook: hook, now: AT, after: undefined, limit: 2, askedLimit: 100 };
      const { asked, due: rest } = await ready().lanes().read(request);
      assert.deepEqual(asked, []);
      assert.deepEqual(
        rest.map(({ event }) => event.id),
        [second, fourth],
      );
      // A delivery without an event is counted but not listed.
      assert.equal((await store.deliveries.health(hook)).failed, 2);
    });
  });
}
