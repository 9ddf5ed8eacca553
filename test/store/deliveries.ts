import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeliveryOutcome } from '../../src/webhooks/port.ts';
import { AT, type Given } from './given.ts';

export function deliveriesConformance(ready: () => Given): void {
  const outcome = (webhook: string, event: string, fence: number): DeliveryOutcome => ({
    webhook,
    event,
    fence,
    attempts: 1,
    reason: undefined,
    state: 'delivered',
  });

  /** A user with one webhook and as many pending deliveries as asked for. */
  async function subscriber(count: number) {
    const { user, webhook, create } = ready();
    const { id: owner } = await user();
    const hook = await webhook(owner);
    for (let n = 0; n < count; n++) await create(owner);
    return { owner, hook };
  }

  describe('webhooks and deliveries', () => {
    test('a webhook is listed for its owner, and deleted by nobody else', async () => {
      const { store, user, webhook } = ready();
      const [one, other] = [await user(), await user()];
      const hook = await webhook(one.id);
      assert.deepEqual(
        (await store.webhooks.webhooks(one.id)).map(({ id, status }) => [id, status]),
        [[hook, 'enabled']],
      );
      assert.deepEqual(await store.webhooks.webhooks(other.id), []);
      assert.equal(await store.webhooks.deleteWebhook(other.id, hook), false);
      assert.equal(await store.webhooks.deleteWebhook(one.id, hook), true);
      assert.equal(await store.webhooks.deleteWebhook(one.id, hook), false);
    });

    test('a new plant becomes one delivery for each webhook of its owner', async () => {
      const { user, webhook, create, claim, ids } = ready();
      const [one, other] = [await user(), await user()];
      const hooks = [await webhook(one.id), await webhook(one.id)];
      const foreign = await webhook(other.id);
      const event = ids.next('evt');
      await create(one.id, 9007199254740993n, { event, name: 'Alder', tag: undefined });
      const claims = await claim();
      for (const hook of hooks) {
        const [mine] = claims.filter((made) => made.webhook.id === hook);
        assert.deepEqual(mine?.event, {
          id: event,
          at: AT,
          plant: { id: 9007199254740993n, name: 'Alder', tag: undefined },
        });
        assert.deepEqual(mine.webhook.secrets, ['whsec_x']);
      }
      assert.deepEqual(
        claims.filter((made) => made.webhook.id === foreign),
        [],
      );
    });

    test('a plant that is refused has no event and no delivery', async () => {
      const { store, plant, claim } = ready();
      const { owner, hook } = await subscriber(1);
      await store.plants.create(plant(owner, { id: 1n }));
      assert.equal((await claim(hook)).length, 1);
    });

    test('a deleted plant is announced all the same', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await subscriber(1);
      await store.plants.delete(owner, 1n);
      assert.equal((await claim(hook))[0]?.event.plant.name, 'Alder');
    });

    test('plants and a webhook in one batch are subscribed in the order of the calls', async () => {
      const { user, webhook, create, claim } = ready();
      const { id: owner } = await user();
      const [, hook] = await Promise.all([create(owner), webhook(owner), create(owner)]);
      assert.deepEqual(
        (await claim(hook)).map(({ event }) => event.plant.id),
        [2n],
      );
    });

    test('a claimed delivery is not claimed again before its lease ends', async () => {
      const { claim } = ready();
      const { hook } = await subscriber(3);
      assert.equal((await claim(hook)).length, 3);
      assert.equal((await claim(hook)).length, 0);
      assert.equal((await claim(hook, { now: AT + 1001, leaseUntil: AT + 2000 })).length, 3);
    });

    test('an outcome with an older fence comes too late and changes nothing', async () => {
      const { store, claim } = ready();
      const { hook } = await subscriber(1);
      const [first] = await claim(hook);
      const [second] = await claim(hook, { now: AT + 1001, leaseUntil: AT + 2000 });
      assert.ok(first && second);
      assert.equal(await store.webhooks.record(outcome(hook, first.event.id, first.fence)), false);
      assert.equal((await claim(hook, { now: AT + 2001, leaseUntil: AT + 3000 })).length, 1);
    });

    test('what was delivered is not claimed again', async () => {
      const { store, claim } = ready();
      const { hook } = await subscriber(1);
      const [made] = await claim(hook);
      assert.ok(made);
      assert.equal(await store.webhooks.record(outcome(hook, made.event.id, made.fence)), true);
      assert.equal(await store.webhooks.record(outcome(hook, made.event.id, made.fence)), false);
      assert.equal((await claim(hook, { now: AT + 99_999 })).length, 0);
    });

    test('a delivery that failed is due again when its outcome says so', async () => {
      const { store, claim } = ready();
      const { hook } = await subscriber(1);
      const [made] = await claim(hook);
      assert.ok(made);
      const again = { ...outcome(hook, made.event.id, made.fence), reason: 'status 500' };
      await store.webhooks.record({ ...again, state: 'pending', due: AT + 5000 });
      assert.equal((await claim(hook, { now: AT + 4999 })).length, 0);
      const [second] = await claim(hook, { now: AT + 5000 });
      assert.equal(second?.attempts, 1);
      assert.equal(second.fence, made.fence + 1);
    });

    test('each webhook has its share of a claim, however long the queue of another is', async () => {
      const { claim } = ready();
      const [long, short] = [await subscriber(30), await subscriber(2)];
      const claims = await claim(undefined, { limit: 10, perWebhook: 8 });
      const of = (hook: string) => claims.filter((made) => made.webhook.id === hook).length;
      assert.equal(of(short.hook), 2);
      assert.equal(of(long.hook), 8);
    });

    test('the webhook that has waited for longest comes first when there is room for few', async () => {
      const { store, create, webhook, user, claim } = ready();
      await claim(undefined, { now: AT + 1e9, leaseUntil: AT + 2e9 });
      const hooks: string[] = [];
      for (const at of [AT + 3, AT + 1, AT + 2]) {
        const { id: owner } = await user();
        hooks.push(await webhook(owner));
        await create(owner, undefined, { at });
      }
      const request = { now: AT + 9, leaseUntil: AT + 1000, perWebhook: 9, limit: 2, busy: new Map() };
      const claims = await store.webhooks.claim(request);
      assert.deepEqual(
        claims.map((made) => made.webhook.id),
        [hooks[1], hooks[2]],
      );
    });

    test('a claim leaves out what is under way for a webhook', async () => {
      const { claim } = ready();
      const { hook } = await subscriber(10);
      const busy = new Map([[hook, 5]]);
      assert.equal((await claim(hook, { perWebhook: 8, busy })).length, 3);
      assert.equal((await claim(hook, { perWebhook: 8, busy: new Map([[hook, 8]]) })).length, 0);
    });

    test('released leases are due at once', async () => {
      const { store, claim } = ready();
      const { hook } = await subscriber(2);
      await claim(hook);
      await store.webhooks.releaseLeases(AT + 10);
      assert.equal((await claim(hook, { now: AT + 10 })).length, 2);
    });

    test('deleting a webhook drops what waits for it', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await subscriber(3);
      await store.webhooks.deleteWebhook(owner, hook);
      assert.equal((await claim(hook)).length, 0);
    });

    test('a commit that makes deliveries due is hinted at', async () => {
      const { store, create } = ready();
      const { owner } = await subscriber(0);
      const hinted = new Promise<void>((resolve) => store.webhooks.onDue(resolve));
      await create(owner);
      await hinted;
    });

    test('the time of the next due delivery is known', async () => {
      const { store, create, claim, webhook, user } = ready();
      await claim(undefined, { now: AT + 1e9, leaseUntil: AT + 2e9 });
      const { id: owner } = await user();
      await webhook(owner);
      await create(owner, undefined, { at: AT + 77 });
      assert.equal(await store.webhooks.nextDue(), AT + 77);
    });
  });
}
