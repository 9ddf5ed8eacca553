import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { createIds } from '../../../src/runtime.ts';
import type { DeliveryState } from '../../../src/webhooks/port.ts';
import { deliveriesTo, deliveryTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

/** What owners see of their deliveries, and what they resend. */
export function deliveriesConformance(ready: () => Given): void {
  const failed = { reason: 'no', next: { state: 'failed' } } as const;

  type Subscriber = { owner: number; hook: string };

  async function list({ owner, hook }: Subscriber, state?: DeliveryState, before?: string, limit = 100) {
    const found = await deliveriesTo(ready().store, { owner, id: hook }, { state, before, limit });
    return found.map(({ event }) => event.plant.id);
  }

  describe('lists of deliveries', () => {
    test('deliveries are listed newest first, page by page', async () => {
      const { store } = ready();
      const { owner, hook } = await ready().subscriber(5);
      assert.deepEqual(await list({ owner, hook }), [5n, 4n, 3n, 2n, 1n]);
      const [, , third] = await deliveriesTo(store, { owner, id: hook }, { limit: 3 });
      assert.deepEqual(await list({ owner, hook }, undefined, third?.event.id, 3), [2n, 1n]);
    });

    test('deliveries are listed by state', async () => {
      const { store, due, create } = ready();
      const { owner, hook } = await ready().subscriber(2);
      const [one, two] = await due(hook);
      assert.ok(one && two);
      await ready().record(outcomeOf(one));
      await ready().record(outcomeOf(two, failed));
      await create(owner);
      assert.deepEqual(await list({ owner, hook }, 'delivered'), [1n]);
      assert.deepEqual(await list({ owner, hook }, 'failed'), [2n]);
      assert.deepEqual(await list({ owner, hook }, 'pending'), [3n]);
      assert.deepEqual(await list({ owner, hook }, 'held'), []);
      await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: false });
      assert.deepEqual(await list({ owner, hook }, 'pending'), []);
      assert.deepEqual(await list({ owner, hook }, 'held'), [3n]);
    });

    test('deliveries in one state are listed page by page, however close together they were created', async () => {
      const { store, create } = ready();
      const { owner, hook } = await ready().subscriber(0);
      let now = AT;
      const ids = createIds({ now: () => now }, randomBytes);
      for (let n = 0; n < 20; n++) {
        // Some in the same millisecond, some a few apart, some far.
        now += [0, 0, 1, 20, 500][n % 5] ?? 0;
        await create(owner, undefined, { event: ids.next('evt') });
      }
      for (const state of ['pending', 'failed'] as const) {
        for (const limit of [1, 3, 7]) {
          const seen: bigint[] = [];
          for (let before: string | undefined; ; ) {
            const page = await deliveriesTo(store, { owner, id: hook }, { state, before, limit });
            assert.ok(page.length <= limit);
            seen.push(...page.map(({ event }) => event.plant.id));
            before = page.at(-1)?.event.id;
            if (page.length < limit) break;
          }
          assert.deepEqual(
            seen,
            Array.from({ length: 20 }, (_, n) => BigInt(20 - n)),
          );
        }
        await ready().attemptAll(hook, failed);
      }
    });

    test('a missing delivery is not found', async () => {
      const { store } = ready();
      const { owner, hook } = await ready().subscriber(0);
      assert.equal(await deliveryTo(store, owner, hook, 'evt_0'), undefined);
      assert.deepEqual(await store.deliveries.history(owner, hook, 'evt_0'), {
        delivery: undefined,
        attempts: [],
      });
    });
  });

  describe('test events', () => {
    const plant = { id: 0n, name: 'Test plant', tag: undefined };

    test("a test event goes to its webhook only, and is not a plant's event", async () => {
      const { store, ids, webhook, due } = ready();
      const { owner, hook } = await ready().subscriber(0);
      const other = await webhook(owner);
      const event = { id: ids.next('evt'), type: 'plant.test', at: AT, plant } as const;
      assert.equal(await store.deliveries.createTest({ owner, webhook: hook, event, due: AT }), true);
      const [made, ...more] = await due(hook);
      assert.deepEqual([made?.event, more], [event, []]);
      assert.deepEqual(await list({ owner, hook: other }), []);
      const page = await store.events.events({ viewer: owner, after: undefined, limit: 10 });
      assert.deepEqual(page?.events, []);
    });

    test('users with replays take turns, however many replays one of them has', async () => {
      const { store, user, create, webhook, due } = ready();
      const begin = async (count: number): Promise<string> => {
        const { id: owner } = await user();
        for (let n = 0; n < 3; n++) await create(owner);
        const hook = await webhook(owner);
        const request = { owner, webhook: hook, from: 'evt_0', state: undefined };
        for (let n = 0; n < count; n++) assert.ok(await store.deliveries.startReplay(request, count));
        return hook;
      };
      const [many, one] = [await begin(5), await begin(1)];
      for (let n = 0; n < 6; n++) await store.chores.advance({ now: AT, limit: 1 });
      assert.deepEqual([(await due(many)).length, (await due(one)).length], [1, 3]);
      await ready().finishChores();
      assert.equal((await due(many)).length, 3);
    });

    test('nobody tests the webhook of another user', async () => {
      const { store, ids, user } = ready();
      const { owner, hook } = await ready().subscriber(0);
      const other = await user();
      const event = { id: ids.next('evt'), type: 'plant.test', at: AT, plant } as const;
      assert.equal(
        await store.deliveries.createTest({ owner: other.id, webhook: hook, event, due: AT }),
        false,
      );
      assert.deepEqual(await list({ owner, hook }), []);
    });
  });

  describe('redelivery', () => {
    test("a missing delivery, or another user's, is not resent", async () => {
      const { store, user, attemptAll } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const [made] = await attemptAll(hook);
      assert.ok(made);
      const other = await user();
      const redeliver = (by: number, event: string) =>
        store.deliveries.redeliver({ owner: by, webhook: hook, event, at: AT });
      assert.equal(await redeliver(other.id, made.event.id), 'no webhook');
      assert.equal(await redeliver(owner, 'evt_0'), 'no delivery');
      assert.deepEqual(await list({ owner, hook }, 'delivered'), [1n]);
    });
  });

  describe('replay', () => {
    test('everything since a time is resent, in slices', async () => {
      const { due, attemptAll } = ready();
      const { owner, hook } = await ready().subscriber(8);
      const sent = await attemptAll(hook);
      const from = sent[2]?.event.id;
      assert.equal(await ready().replay(owner, hook, undefined, from), 6);
      assert.equal((await due(hook)).length, 6);
    });

    test('plants created after a replay was requested are not part of it', async () => {
      const { store, create, attemptAll, finishChores, due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await attemptAll(hook);
      await store.deliveries.startReplay({ owner, webhook: hook, from: 'evt_0', state: undefined }, 10);
      await create(owner);
      await attemptAll(hook);
      await finishChores();
      assert.deepEqual(
        (await due(hook)).map(({ event }) => event.plant.id),
        [1n],
      );
    });

    test('a replay of a state that no delivery can have changes nothing', async () => {
      const { store } = ready();
      const { owner, hook } = await ready().subscriber(1);
      assert.equal(await ready().replay(owner, hook, 'held'), 0);
      const [before] = await deliveriesTo(store, { owner, id: hook });
      assert.equal(before?.nextAttemptAt, AT);
      await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: false });
      assert.equal(await ready().replay(owner, hook, 'pending'), 0);
      assert.equal(await store.chores.hasChores(AT), false);
    });

    test('repeated enabling is one chore, and does not count as a replay', async () => {
      const { store, finishChores } = ready();
      const { owner, hook } = await ready().subscriber(2);
      for (let n = 0; n < 5; n++) await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: true });
      const request = { owner, webhook: hook, from: 'evt_0', state: undefined };
      assert.equal(await store.deliveries.startReplay(request, 1), true);
      await store.chores.advance({ now: AT, limit: 10 });
      await store.chores.advance({ now: AT, limit: 10 });
      assert.equal(await store.chores.hasChores(AT), false);
      await finishChores();
    });

    test('enabling again makes everything that waits due, also what the first time is past', async () => {
      const { store, due, attemptAll, finishChores } = ready();
      const { owner, hook } = await ready().subscriber(6);
      const later = { reason: 'no', next: { state: 'pending', due: AT + 1e9, step: 1 } } as const;
      const enable = () => store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: true });
      await attemptAll(hook, later);
      await enable();
      await store.chores.advance({ now: AT, limit: 3 });
      assert.ok((await attemptAll(hook, later)).length > 0);
      await enable();
      await finishChores();
      assert.equal((await due(hook)).length, 6);
    });

    test('the number of waiting replays of a webhook is limited', async () => {
      const { store, finishChores } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const request = { owner, webhook: hook, from: 'evt_0', state: undefined };
      assert.equal(await store.deliveries.startReplay(request, 1), true);
      assert.equal(await store.deliveries.startReplay(request, 1), false);
      await finishChores();
      assert.equal(await store.deliveries.startReplay(request, 1), true);
      await finishChores();
    });

    test('replays of several webhooks take turns, and end when their webhook is deleted', async () => {
      const { store, finishChores, due } = ready();
      const [one, other] = [await ready().subscriber(7), await ready().subscriber(7)];
      for (const { owner, hook } of [one, other]) {
        await ready().attemptAll(hook);
        await store.deliveries.startReplay({ owner, webhook: hook, from: 'evt_0', state: undefined }, 10);
      }
      await store.chores.advance({ now: AT, limit: 3 });
      await store.chores.advance({ now: AT, limit: 3 });
      for (const { hook } of [one, other]) assert.equal((await due(hook)).length, 3);
      await store.webhooks.deleteWebhook(one.owner, one.hook);
      await finishChores();
      assert.equal((await due(other.hook)).length, 7);
    });
  });
}
