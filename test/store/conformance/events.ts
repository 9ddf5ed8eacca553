import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { ExpiryPosition } from '../../../src/webhooks/port.ts';
import { deliveryTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given } from '../../../testkit/stores/given.ts';

/** The feed of events, and their retention. */
export function eventsConformance(ready: () => Given): void {
  async function walk(viewer: number, after: string | undefined, limit: number) {
    const plants: bigint[] = [];
    let position = after;
    for (;;) {
      const page = await ready().store.events.events({ viewer, after: position, limit });
      assert.ok(page);
      plants.push(...page.events.map(({ plant }) => plant.id));
      position = page.next;
      if (page.events.length < limit) return { plants, position };
    }
  }

  /** Removes older events, like the housekeeper; those of `first` and of later users, if given. */
  async function removeBefore(before: string, first?: number): Promise<void> {
    let from: ExpiryPosition | undefined = first === undefined ? undefined : { owner: first, event: '' };
    // Other tests of the store left many events, which two at a time would take a thousand statements.
    const limit = first === undefined ? 100 : 2;
    do from = await ready().store.chores.removeExpired({ before, from, limit });
    while (from);
  }

  describe('the feed of events', () => {
    test('events are listed oldest first, each once, whatever the page size', async () => {
      const { user, create } = ready();
      const { id: owner } = await user();
      for (const id of [5n, 3n, 9n, 1n]) await create(owner, id);
      for (const limit of [1, 2, 3, 4, 5]) {
        assert.deepEqual((await walk(owner, undefined, limit)).plants, [5n, 3n, 9n, 1n]);
      }
    });

    test('an event contains the plant as it was created', async () => {
      const { store, ids, user, create } = ready();
      const { id: owner } = await user();
      const event = ids.next('evt');
      await create(owner, -9007199254740993n, { event, tag: undefined });
      await store.plants.delete(owner, -9007199254740993n);
      const page = await store.events.events({ viewer: owner, after: undefined, limit: 9 });
      const [{ position, ...shown } = assert.fail()] = page?.events ?? [];
      assert.match(position, /^\w+$/);
      assert.deepEqual(shown, {
        id: event,
        type: 'plant.created',
        at: AT,
        plant: { id: -9007199254740993n, name: 'Alder', tag: undefined },
      });
    });

    test('the end of the feed is a position from which later events are found', async () => {
      const { store, user, create } = ready();
      const { id: owner } = await user();
      const beginning = await store.events.latestPosition(owner);
      assert.deepEqual(await walk(owner, beginning, 5), { plants: [], position: beginning });
      await create(owner);
      assert.deepEqual((await walk(owner, beginning, 5)).plants, [1n]);
      const end = await store.events.latestPosition(owner);
      await create(owner);
      assert.deepEqual((await walk(owner, end, 5)).plants, [2n]);
    });

    test('nobody sees the events of another user', async () => {
      const { store, user, create } = ready();
      const [one, other] = [await user(), await user()];
      await create(one.id);
      assert.deepEqual((await walk(other.id, undefined, 5)).plants, []);
      assert.notEqual(await store.events.latestPosition(one.id), await store.events.latestPosition(other.id));
    });

    test('a reader that follows the feed skips nothing created meanwhile', async () => {
      const { user, create } = ready();
      const { id: owner } = await user();
      const created: bigint[] = [];
      const creators = Array.from({ length: 8 }, async () => {
        for (let n = 0; n < 25; n++) created.push(await create(owner));
      });
      let done = false;
      const all = Promise.all(creators).then(() => {
        done = true;
      });
      const seen: bigint[] = [];
      let position: string | undefined;
      for (let last = false; !last; ) {
        last = done;
        const page = await walk(owner, position, 7);
        seen.push(...page.plants);
        position = page.position;
        await setImmediate();
      }
      await all;
      assert.deepEqual(seen.toSorted(), created.toSorted());
    });

    test('a commit with events sends a hint with their owners', async () => {
      const { store, user, create } = ready();
      const { id: owner } = await user();
      const hinted = new Promise<void>((resolve) =>
        store.events.onEvents((owners) => owners.includes(owner) && resolve()),
      );
      await create(owner);
      await hinted;
    });
  });

  describe('retention', () => {
    // Of all users, most of them of other tests. The next tests spare themselves that walk: each begins at its own user.
    test('old events go with their deliveries and attempts', async () => {
      const { store, ids, attemptAll, create } = ready();
      const { owner, hook } = await ready().subscriber(5);
      const sent = await attemptAll(hook);
      const bound = ids.next('evt');
      await create(owner);
      await removeBefore(bound);
      for (const { event } of sent) {
        const found = await store.deliveries.history(owner, hook, event.id);
        assert.deepEqual(found, { delivery: undefined, attempts: [] });
      }
      assert.deepEqual((await walk(owner, undefined, 5)).plants, [6n]);
    });

    test('an event whose delivery still waits is kept', async () => {
      const { store, ids, due, attemptAll } = ready();
      const { owner, hook } = await ready().subscriber(3);
      await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: false });
      await removeBefore(ids.next('evt'), owner);
      assert.deepEqual((await walk(owner, undefined, 5)).plants, [1n, 2n, 3n]);
      await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: true });
      assert.equal((await due(hook)).length, 3);
      await attemptAll(hook);
      await removeBefore(ids.next('evt'), owner);
      assert.deepEqual((await walk(owner, undefined, 5)).plants, []);
    });

    test('a position before removed events is refused, one after them is not', async () => {
      const { store, ids, user, create } = ready();
      const { id: owner } = await user();
      await create(owner);
      const { position } = await walk(owner, undefined, 5);
      await create(owner);
      const end = await store.events.latestPosition(owner);
      await removeBefore(ids.next('evt'), owner);
      assert.equal(await store.events.events({ viewer: owner, after: position, limit: 5 }), undefined);
      await create(owner);
      assert.deepEqual((await walk(owner, end, 5)).plants, [3n]);
      assert.deepEqual((await walk(owner, undefined, 5)).plants, [3n]);
    });

    test('an old event kept because it waits does not hold up the feed', async () => {
      const { store, ids, attemptAll, create } = ready();
      const { owner, hook } = await ready().subscriber(3);
      const [first] = await attemptAll(hook);
      assert.ok(first);
      await store.deliveries.redeliver({ owner, webhook: hook, event: first.event.id, at: AT });
      await removeBefore(ids.next('evt'), owner);
      assert.equal((await deliveryTo(store, owner, hook, first.event.id))?.state, 'pending');
      const { plants, position } = await walk(owner, undefined, 5);
      assert.deepEqual(plants, []);
      assert.equal(await store.events.latestPosition(owner), position);
      await create(owner);
      assert.deepEqual((await walk(owner, position, 5)).plants, [4n]);
    });

    test('the end of a feed whose events were all removed does not move', async () => {
      const { store, ids, user, create } = ready();
      const { id: owner } = await user();
      await create(owner);
      const end = await store.events.latestPosition(owner);
      await removeBefore(ids.next('evt'), owner);
      assert.equal(await store.events.latestPosition(owner), end);
    });
  });
}
