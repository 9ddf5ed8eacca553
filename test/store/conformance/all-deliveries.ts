import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstId } from '../../../src/runtime.ts';
import { type DeliveriesRequest, listDeliveries } from '../../../src/webhooks/delivery-operations.ts';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

export function allDeliveriesConformance(ready: () => Given): void {
  const ALL = { webhook: undefined, state: undefined, plant: undefined, since: undefined, until: undefined };

  /** The whole list in pages, each delivery as `webhook event`. */
  async function walk(owner: number, limit: number, filters: Partial<DeliveriesRequest> = {}) {
    const seen: string[] = [];
    let after: DeliveriesRequest['after'];
    do {
      const request = { ...ALL, ...filters, owner, after, limit };
      const { deliveries, next } = await listDeliveries(ready().store, request);
      assert.ok(deliveries.length <= limit);
      seen.push(...deliveries.map(({ webhook, event }) => `${event.id} ${webhook}`));
      after = next;
    } while (after);
    return seen;
  }

  /** An event at this many milliseconds. */
  const at = (ms: number, n = 0) => `${firstId('evt', AT + ms).slice(0, -4)}${String(n).padStart(4, '0')}`;
  const lastFirst = (rows: string[]) => rows.sort().reverse();

  describe('deliveries of all webhooks', () => {
    test('deliveries are listed newest first, each exactly once, in pages of any size and however webhooks share them', async () => {
      const { user, webhook, create } = ready();
      const { id: owner } = await user();
      const expected: string[] = [];
      const hooks: string[] = [];
      for (let n = 0; n < 12; n++) {
        // Each later one has fewer, and all are of the same events.
        if (n % 3 === 0) hooks.push(await webhook(owner));
        const event = at(n * 10, n);
        await create(owner, undefined, { event });
        expected.push(...hooks.map((hook) => `${event} ${hook}`));
      }
      lastFirst(expected);
      for (const limit of [1, 2, 3, 5, 7, 30, 100]) assert.deepEqual(await walk(owner, limit), expected);
      const [, second] = hooks;
      assert.ok(second);
      const ofSecond = expected.filter((row) => row.endsWith(second));
      assert.deepEqual(await walk(owner, 2, { webhook: second }), ofSecond);
      assert.deepEqual(await walk(owner, 2, { webhook: 'wh_none' }), []);
    });

    test('a page may end between the webhooks of one event, and the next one continues there', async () => {
      const { user, webhook, create, attemptAll } = ready();
      const { id: owner } = await user();
      const hooks = [await webhook(owner), await webhook(owner), await webhook(owner)];
      // Up to two in a millisecond.
      const events = [0, 1, 2, 3, 4].map((n) => at(Math.floor(n / 2), n));
      for (const event of events) await create(owner, undefined, { event });
      const expected = lastFirst(events.flatMap((event) => hooks.map((hook) => `${event} ${hook}`)));
      for (const state of [undefined, 'pending'] as const) {
        for (const limit of [1, 2, 4]) assert.deepEqual(await walk(owner, limit, { state }), expected);
      }
      for (const hook of hooks) await attemptAll(hook);
      assert.deepEqual(await walk(owner, 2, { state: 'delivered' }), expected);
    });

    test('nobody sees the deliveries of another user, and a deleted webhook has none', async () => {
      const { store, subscriber } = ready();
      const [one, other] = [await subscriber(2), await subscriber(3)];
      assert.equal((await walk(one.owner, 10)).length, 2);
      assert.deepEqual(await walk(one.owner, 10, { webhook: other.hook }), []);
      await store.webhooks.deleteWebhook(one.owner, one.hook);
      assert.deepEqual(await walk(one.owner, 10), []);
    });

    test('deliveries in each state are found across webhooks, held apart from pending', async () => {
      const { store, user, webhook, create, due, record } = ready();
      const { id: owner } = await user();
      const [open, shut] = [await webhook(owner), await webhook(owner)];
      for (let n = 0; n < 6; n++) await create(owner, undefined, { event: at(n * 40) });
      const [first, second] = await due(open);
      assert.ok(first && second);
      await record(outcomeOf(first));
      await record(outcomeOf(second, { reason: 'no', next: { state: 'failed' } }));
      const change = { enabled: false, at: AT };
      await store.webhooks.changeWebhook(owner, shut, change);
      const rows = (hook: string, events: number[]) => lastFirst(events.map((n) => `${at(n * 40)} ${hook}`));
      for (const limit of [1, 4, 50]) {
        const inState = (state: DeliveriesRequest['state']) => walk(owner, limit, { state });
        assert.deepEqual(await inState('delivered'), rows(open, [0]));
        assert.deepEqual(await inState('failed'), rows(open, [1]));
        assert.deepEqual(await inState('pending'), rows(open, [2, 3, 4, 5]));
        assert.deepEqual(await inState('held'), rows(shut, [0, 1, 2, 3, 4, 5]));
      }
    });

    test('times bound the events: from the first on, and before the second', async () => {
      const { user, webhook, create } = ready();
      const { id: owner } = await user();
      const hook = await webhook(owner);
      for (const ms of [0, 10, 20, 30]) await create(owner, undefined, { event: at(ms) });
      const rows = (...times: number[]) => times.map((ms) => `${at(ms)} ${hook}`);
      for (const state of [undefined, 'pending'] as const) {
        for (const limit of [1, 9]) {
          const bound = (since?: number, until?: number) =>
            walk(owner, limit, { state, since: since && AT + since, until: until && AT + until });
          assert.deepEqual(await bound(10), rows(30, 20, 10));
          assert.deepEqual(await bound(undefined, 20), rows(10, 0));
          assert.deepEqual(await bound(10, 30), rows(20, 10));
          assert.deepEqual(await bound(25, 26), []);
        }
      }
    });

    test('a plant has the deliveries of all plants that had its id, and no others', async () => {
      const { store, user, webhook, create } = ready();
      const [one, other] = [await user(), await user()];
      await store.access.addShare({ owner: other.name, viewer: one.name, at: AT }, 10);
      const hooks = [await webhook(one.id), await webhook(one.id)];
      const events = [0, 1, 2, 3, 4].map((n) => at(n * 10));
      for (const event of events.slice(0, 4)) {
        await create(one.id, 7n, { event });
        await create(one.id, undefined, { event: `${event.slice(0, -1)}9` });
        await store.plants.delete(one.id, 7n);
      }
      // Of another owner with the same id.
      await create(other.id, 7n, { event: at(40) });
      const expected = lastFirst(events.flatMap((event) => hooks.map((hook) => `${event} ${hook}`)));
      for (const limit of [1, 2, 3, 4, 20]) {
        assert.deepEqual(await walk(one.id, limit, { plant: 7n }), expected);
        assert.deepEqual(await walk(one.id, limit, { plant: 7n, state: 'delivered' }), []);
        const [hook] = hooks;
        const ofHook = expected.filter((row) => row.endsWith(String(hook)));
        assert.deepEqual(await walk(one.id, limit, { plant: 7n, webhook: hook }), ofHook);
      }
      assert.equal((await walk(one.id, 3, { plant: 7n, since: AT + 10, until: AT + 30 })).length, 4);
      assert.deepEqual(await walk(one.id, 3, { plant: -7n }), []);
    });

    test('a withdrawn share takes its deliveries out of the list at once', async () => {
      const { store, user, webhook, create } = ready();
      const [owner, viewer] = [await user(), await user()];
      await store.access.addShare({ owner: owner.name, viewer: viewer.name, at: AT }, 10);
      await webhook(viewer.id);
      await create(owner.id, 3n);
      assert.equal((await walk(viewer.id, 5)).length, 1);
      assert.equal((await walk(viewer.id, 5, { plant: 3n })).length, 1);
      await store.access.removeShare({ owner: owner.name, viewer: viewer.name });
      assert.deepEqual(await walk(viewer.id, 5), []);
      assert.deepEqual(await walk(viewer.id, 5, { plant: 3n }), []);
    });
  });
}
