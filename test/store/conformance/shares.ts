import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { User } from '../../../src/access/port.ts';
import type { PlantField, Position } from '../../../src/plants/port.ts';
import { attemptsOf, deliveriesTo, deliveryTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

export function sharesConformance(ready: () => Given): void {
  const share = (owner: User, viewer: User, most = 1000) =>
    ready().store.access.addShare({ owner: owner.name, viewer: viewer.name, at: AT }, most);
  const unshare = (owner: User, viewer: User) =>
    ready().store.access.removeShare({ owner: owner.name, viewer: viewer.name });

  /** Creates users in the order of their names. */
  async function users(count: number): Promise<User[]> {
    const made = [];
    for (let n = 0; n < count; n++) made.push(await ready().user());
    return made.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Pages through the whole list; each plant as `owner id`. */
  async function walk(viewer: User, limit: number): Promise<string[]> {
    const fields: PlantField[] = ['owner', 'id'];
    const seen: string[] = [];
    let from: Position | undefined;
    do {
      const query = { viewer: viewer.id, from, through: undefined, limit, fields };
      const page = await ready().store.plants.page(query);
      const plants: { owner: string; id: number }[] = JSON.parse(`[${page.json}]`);
      assert.equal(plants.length, page.count);
      seen.push(...plants.map(({ owner, id }) => `${owner} ${id}`));
      from = page.next;
    } while (from);
    return seen;
  }

  const feed = async (viewer: User, after?: string, limit = 100) => {
    const page = await ready().store.events.events({ viewer: viewer.id, after, limit });
    assert.ok(page);
    return { names: page.events.map(({ plant }) => plant.name), next: page.next };
  };

  describe('shares', () => {
    test('a share is created once, and only between existing users', async () => {
      const { store } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      assert.equal(await share(ann, bob), 'shared');
      assert.equal(await share(ann, bob), 'shared before');
      assert.equal(await share({ ...ann, name: 'nobody' }, bob), 'no owner');
      assert.equal(await share(ann, { ...bob, name: 'nobody' }), 'no viewer');
      const listed = (await store.access.shares()).filter(({ owner }) => owner === ann.name);
      assert.deepEqual(listed, [{ owner: ann.name, viewer: bob.name, createdAt: AT }]);
      assert.equal(await unshare(ann, bob), true);
      assert.equal(await unshare(ann, bob), false);
    });

    test('nobody shares with themselves', async () => {
      const { store } = ready();
      const [ann] = await users(1);
      assert.ok(ann);
      assert.equal(await share(ann, ann), 'same user');
      const listed = (await store.access.shares()).filter(({ owner }) => owner === ann.name);
      assert.deepEqual(listed, []);
    });

    test('neither side can exceed its limit of shares', async () => {
      const [ann, bob, eve, joe] = await users(4);
      assert.ok(ann && bob && eve && joe);
      await share(ann, bob);
      assert.equal(await share(ann, eve, 1), 'owner full');
      assert.equal(await share(eve, bob, 1), 'viewer full');
      assert.equal(await share(eve, joe, 1), 'shared');
    });

    test('the list has the own plants first, then those of others by name of the owner', async () => {
      const { create, store } = ready();
      const [zoe, ann, bob] = await users(3);
      assert.ok(zoe && ann && bob);
      // Created in another order than by name, so that user ids do not matter.
      for (const owner of [bob, ann, zoe]) for (const id of [5n, -2n, 9n]) await create(owner.id, id);
      await share(bob, ann);
      await share(zoe, ann);
      const expected = [ann, zoe, bob].flatMap(({ name }) => [-2, 5, 9].map((id) => `${name} ${id}`));
      for (const limit of [1, 2, 3, 4, 9, 10]) assert.deepEqual(await walk(ann, limit), expected);
      assert.deepEqual(await store.access.visibleOwners(ann.id), [ann.id, zoe.id, bob.id]);
      assert.deepEqual(
        await walk(bob, 2),
        [-2, 5, 9].map((id) => `${bob.name} ${id}`),
      );
    });

    test('names are ordered by code points, even beyond the basic plane', async () => {
      const { store, ids } = ready();
      const viewer = await ready().user();
      const suffix = ids.next('tok');
      for (const first of ['\u{1f331}', '\uff5e', 'Z', 'a']) {
        const owner = await store.access.createUser({ name: `${first}${suffix}`, at: AT });
        assert.ok(owner);
        await ready().create(owner.id, 1n);
        await share(owner, viewer);
      }
      const firsts = (await walk(viewer, 2)).map((text) => text.slice(0, text.indexOf('tok_')));
      assert.deepEqual(firsts, ['Z', 'a', '\uff5e', '\u{1f331}']);
    });

    test('the end of a list is found across owners, with and without a count', async () => {
      const { store, create } = ready();
      const [ann, bob, eve] = await users(3);
      assert.ok(ann && bob && eve);
      for (const owner of [ann, bob]) for (const id of [1n, 2n]) await create(owner.id, id);
      await share(bob, ann);
      // Without plants.
      await share(eve, ann);
      const endOf = async (viewer: User, count?: number) => {
        const { last, next } = await store.plants.end({ viewer: viewer.id, from: undefined, count });
        return { last, next };
      };
      const end = (count?: number) => endOf(ann, count);
      assert.deepEqual(await end(), { last: { owner: bob.id, id: 2n }, next: undefined });
      assert.deepEqual(await end(2), {
        last: { owner: ann.id, id: 2n },
        next: { owner: bob.id, id: 1n },
      });
      assert.deepEqual(await end(4), { last: { owner: bob.id, id: 2n }, next: undefined });
      assert.deepEqual(await endOf(eve, 3), { last: undefined, next: undefined });
    });

    test("a list contains no plant added after an owner's last one while it is read", async () => {
      const { store, create } = ready();
      const [ann, bob, eve] = await users(3);
      assert.ok(ann && bob && eve);
      for (const owner of [ann, bob]) for (let n = 0; n < 3; n++) await create(owner.id);
      await share(bob, ann);
      const query = { viewer: ann.id, from: undefined, limit: 100, fields: ['id'] as PlantField[] };
      const ends = [];
      for (const count of [5, undefined]) ends.push(await store.plants.end({ ...query, count }));
      await create(ann.id);
      await create(bob.id);
      await share(eve, ann);
      await create(eve.id);
      const counts = [];
      for (const { last: through, ends: bounds } of ends) {
        counts.push((await store.plants.page({ ...query, through, ends: bounds })).count);
        counts.push((await store.plants.page({ ...query, through })).count);
      }
      // Only the end of the last owner is a position.
      assert.deepEqual(counts, [5, 6, 6, 7]);
    });

    test('paging continues with the next owner when a share ends', async () => {
      const { create, read } = ready();
      const [ann, bob, eve] = await users(3);
      assert.ok(ann && bob && eve);
      for (const owner of [ann, bob, eve]) for (const id of [1n, 2n]) await create(owner.id, id);
      await share(bob, ann);
      await share(eve, ann);
      const page = await read(ann.id, { limit: 3 });
      assert.deepEqual(page.next, { owner: bob.id, id: 2n });
      await unshare(bob, ann);
      assert.ok(page.next);
      assert.deepEqual(await read(ann.id, { from: page.next }), { ids: [1n, 2n], count: 2, next: undefined });
      // The earlier end lies within that owner's plants.
      const through = { owner: bob.id, id: 2n };
      assert.deepEqual((await read(ann.id, { through })).ids, [1n, 2n]);
    });

    test('a viewer cannot delete a shared plant', async () => {
      const { store, create } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      await create(ann.id, 7n);
      await share(ann, bob);
      assert.equal(await store.plants.delete(bob.id, 7n), false);
      assert.deepEqual(await walk(ann, 10), [`${ann.name} 7`]);
    });

    test('the feed has the events of all shared plants, in one order, and skips none', async () => {
      const { create, store } = ready();
      const [ann, bob, eve] = await users(3);
      assert.ok(ann && bob && eve);
      await share(bob, ann);
      await share(eve, ann);
      const made: string[] = [];
      for (let n = 0; n < 12; n++) {
        const owner = [ann, bob, eve][(n * 7) % 3] ?? ann;
        await create(owner.id, BigInt(n), { name: `plant ${n}` });
        made.push(`plant ${n}`);
      }
      assert.deepEqual((await feed(ann)).names, made);
      const seen: string[] = [];
      let after: string | undefined;
      for (let n = 0; n < 7; n++) {
        const page = await feed(ann, after, 2);
        seen.push(...page.names);
        after = page.next;
      }
      assert.deepEqual(seen, made);
      assert.equal(await store.events.latestPosition(ann.id), after);
      await unshare(eve, ann);
      assert.equal((await feed(ann)).names.length, 8);
    });

    test("a viewer's webhooks get the owner's new plants, and a shared one that was deleted stays in its delivery", async () => {
      const { webhook, create, due, store } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      const hook = await webhook(bob.id);
      await create(ann.id, 1n);
      await share(ann, bob);
      await create(ann.id, 2n);
      await create(bob.id, 2n);
      await store.plants.delete(ann.id, 2n);
      const found = await due(hook);
      assert.deepEqual(
        found.map(({ event }) => event.plant.id),
        [2n, 2n],
      );
      for (const one of found) assert.equal(await ready().record(outcomeOf(one)), 'settled');
      const [first] = await deliveriesTo(store, { owner: bob.id, id: hook }, { state: 'delivered' });
      assert.ok(first);
      assert.equal((await attemptsOf(store, bob.id, hook, first.event.id)).length, 1);
    });

    test('a replay includes shared plants', async () => {
      const { webhook, create, due, store, finishChores } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      for (let n = 1n; n <= 4n; n++) {
        await create(ann.id, n);
        await create(bob.id, n);
      }
      const hook = await webhook(bob.id);
      await share(ann, bob);
      const request = { owner: bob.id, webhook: hook, from: 'evt_', state: undefined };
      assert.equal(await store.deliveries.countReplay(request), 8);
      assert.equal(await store.deliveries.startReplay(request, 10), true);
      await finishChores();
      assert.equal((await due(hook)).length, 8);
    });

    test('removing a share removes its deliveries from lanes, lists and counts at once', async () => {
      const { webhook, create, due, store, finishChores } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      const hook = await webhook(bob.id);
      await share(ann, bob);
      for (let n = 1n; n <= 5n; n++) await create(ann.id, n);
      await create(bob.id, 1n);
      await unshare(ann, bob);
      assert.equal((await deliveriesTo(store, { owner: bob.id, id: hook })).length, 1);
      await create(ann.id, 6n);
      assert.equal((await due(hook)).length, 1);
      await finishChores();
      assert.equal((await store.deliveries.health(hook)).waiting, 1);
      // Shared again, only new plants arrive.
      await share(ann, bob);
      await create(ann.id, 7n);
      assert.deepEqual(
        (await due(hook)).map(({ event }) => event.plant.id),
        [1n, 7n],
      );
    });

    test('a replay after sharing again delivers everything', async () => {
      const { webhook, create, due, store, finishChores } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      const hook = await webhook(bob.id);
      await share(ann, bob);
      for (let n = 1n; n <= 7n; n++) await create(ann.id, n);
      await unshare(ann, bob);
      await share(ann, bob);
      // Deliveries left from an earlier share are not sent during their removal.
      assert.deepEqual(await due(hook), []);
      const request = { owner: bob.id, webhook: hook, from: 'evt_', state: undefined };
      assert.equal(await store.deliveries.startReplay(request, 10), true);
      await finishChores();
      assert.equal((await due(hook)).length, 7);
    });

    test("a new share does not invalidate a cursor because of the owner's removed events", async () => {
      const { create, store, ids } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      await create(bob.id);
      const { next } = await feed(bob);
      await create(ann.id);
      const expire = async () => {
        const before = ids.next('evt');
        let from: { owner: number; event: string } | undefined;
        do from = await store.chores.removeExpired({ before, from, limit: 100 });
        while (from);
      };
      await create(ann.id);
      await expire();
      const removed = await store.events.latestPosition(ann.id);
      assert.ok(removed > next);
      // Bob's own events were removed too; a viewer whose own were not:
      const eve = await ready().user();
      await share(ann, eve);
      assert.deepEqual(await feed(eve, next), { names: [], next });
      await create(ann.id, 50n, { name: 'after' });
      assert.deepEqual((await feed(eve, next)).names, ['after']);
      await expire();
      assert.equal(await store.events.events({ viewer: eve.id, after: next, limit: 10 }), undefined);
    });

    test('retention removes the deliveries of viewers together with the event', async () => {
      const { webhook, create, due, store, ids } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      const hook = await webhook(bob.id);
      await share(ann, bob);
      await create(ann.id, 1n);
      const expire = async () => {
        const before = ids.next('evt');
        let from: { owner: number; event: string } | undefined;
        do from = await store.chores.removeExpired({ before, from, limit: 100 });
        while (from);
      };
      await expire();
      const [waiting] = await due(hook);
      assert.ok(waiting);
      await ready().record(outcomeOf(waiting));
      await expire();
      assert.equal(await deliveryTo(store, bob.id, hook, waiting.event.id), undefined);
      assert.deepEqual((await feed(ann)).names, []);
    });

    test('adding and removing a share changes the epoch', async () => {
      const { store } = ready();
      const [ann, bob] = await users(2);
      assert.ok(ann && bob);
      const before = store.access.accessEpoch();
      await share(ann, bob);
      const between = store.access.accessEpoch();
      await unshare(ann, bob);
      assert.equal(new Set([before, between, store.access.accessEpoch()]).size, 3);
    });
  });
}
