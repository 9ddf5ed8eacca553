import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

/** Activity in numbers. */
export function activityConformance(ready: () => Given): void {
  const all = { from: 'evt_0', before: 'evt_z', most: 1000 };

  describe('activity', () => {
    test('plants and deliveries are counted by outcome', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(4);
      const [one, two, three] = await due(hook);
      assert.ok(one && two && three);
      await ready().record(outcomeOf(one));
      await ready().record(outcomeOf(two));
      await ready().record(outcomeOf(three, { reason: 'no', next: { state: 'failed' } }));
      assert.deepEqual(await store.deliveries.activity({ viewer: owner, ...all }), {
        plants: 4,
        delivered: 2,
        failed: 1,
        waiting: 1,
      });
    });

    test('held deliveries count as waiting, and deleted ones do not count', async () => {
      const { store, webhook, create } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const deleted = await webhook(owner);
      await create(owner);
      await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: false });
      await store.webhooks.deleteWebhook(owner, deleted);
      const activity = await store.deliveries.activity({ viewer: owner, ...all });
      assert.deepEqual(activity, { plants: 2, delivered: 0, failed: 0, waiting: 2 });
    });

    test('a test event counts as a delivery, not as a plant', async () => {
      const { store, ids } = ready();
      const { owner, hook } = await ready().subscriber(0);
      const plant = { id: 0n, name: 'Test plant', tag: undefined };
      const event = { id: ids.next('evt'), type: 'plant.test', at: AT, plant } as const;
      await store.deliveries.createTest({ owner, webhook: hook, event, due: AT });
      const activity = await store.deliveries.activity({ viewer: owner, ...all });
      assert.deepEqual(activity, { plants: 0, delivered: 0, failed: 0, waiting: 1 });
    });

    test('only events between the two ids count', async () => {
      const { store, ids, create } = ready();
      const { owner } = await ready().subscriber(2);
      const from = ids.next('evt');
      await create(owner);
      const before = ids.next('evt');
      await create(owner);
      const activity = await store.deliveries.activity({ viewer: owner, from, before, most: 1000 });
      assert.deepEqual(activity, { plants: 1, delivered: 0, failed: 0, waiting: 1 });
    });

    test('plants of others count when they are shared, and their webhooks do not', async () => {
      const { store, user } = ready();
      const { owner } = await ready().subscriber(3);
      const viewer = await user();
      const stranger = await store.deliveries.activity({ viewer: viewer.id, ...all });
      assert.deepEqual(stranger, { plants: 0, delivered: 0, failed: 0, waiting: 0 });
      const users = await store.access.users();
      const name = users.find(({ id }) => id === owner)?.name ?? '';
      await store.access.addShare({ owner: name, viewer: viewer.name, at: AT }, 10);
      const activity = await store.deliveries.activity({ viewer: viewer.id, ...all });
      assert.deepEqual(activity, { plants: 3, delivered: 0, failed: 0, waiting: 0 });
    });

    test('no numbers are returned beyond the counting limit', async () => {
      const { store } = ready();
      const { owner } = await ready().subscriber(3);
      const activity = (most: number) => store.deliveries.activity({ viewer: owner, ...all, most });
      assert.equal(await activity(5), undefined);
      assert.deepEqual(await activity(6), { plants: 3, delivered: 0, failed: 0, waiting: 3 });
    });
  });
}
