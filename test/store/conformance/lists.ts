import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_ID } from '../../../src/plants/plant.ts';
import { plantFields } from '../../../src/plants/port.ts';
import type { Given } from '../../../testkit/stores/given.ts';

export function listsConformance(ready: () => Given): void {
  describe('lists', () => {
    test('a page is JSON text with the requested fields, in their order', async () => {
      const { store, user, create } = ready();
      const owner = await user();
      await create(owner.id, 9007199254740993n, { name: 'é "quoted" \\ \u0001 \u{1f331}', tag: '' });
      await create(owner.id, 9007199254740994n, { name: 'Alder', tag: undefined });
      const page = await store.plants.page({
        viewer: owner.id,
        from: undefined,
        through: undefined,
        limit: 10,
        fields: plantFields,
      });
      assert.equal(page.json.match(/"id":(\d+)/)?.[1], '9007199254740993');
      const [first, second] = JSON.parse(`[${page.json}]`);
      assert.equal(first.name, 'é "quoted" \\ \u0001 \u{1f331}');
      assert.equal(first.tag, '');
      assert.equal(first.owner, owner.name);
      assert.deepEqual(Object.keys(first), ['id', 'name', 'tag', 'owner']);
      assert.deepEqual(Object.keys(second), ['id', 'name', 'owner']);
    });

    test('a page says where the list continues, even when it is exactly full', async () => {
      const { user, create, read } = ready();
      const { id: owner } = await user();
      for (let n = 0; n < 4; n++) await create(owner);
      assert.deepEqual((await read(owner, { limit: 3 })).next, { owner, id: 4n });
      assert.equal((await read(owner, { limit: 4 })).next, undefined);
      assert.equal((await read(owner, { limit: 5 })).next, undefined);
    });

    test("a list never contains another user's plants", async () => {
      const { user, create, walk } = ready();
      const [one, other] = [await user(), await user()];
      await create(one.id, 1n);
      await create(other.id, 2n);
      assert.deepEqual(await walk(one.id, 10), [1n]);
    });

    test('each plant that exists throughout appears exactly once', async () => {
      const { store, user, create, read } = ready();
      const { id: owner } = await user();
      for (let id = 0n; id < 20n; id += 2n) await create(owner, id);
      const first = await read(owner, { limit: 4 });
      await store.plants.delete(owner, 6n);
      await create(owner, 1n);
      await create(owner, 9n);
      const rest = await read(owner, { from: first.next, limit: 100 });
      assert.deepEqual([...first.ids, ...rest.ids], [0n, 2n, 4n, 6n, 8n, 9n, 10n, 12n, 14n, 16n, 18n]);
    });

    test('a page ends at the given position', async () => {
      const { user, create, read } = ready();
      const { id: owner } = await user();
      for (let n = 0; n < 6; n++) await create(owner);
      const page = await read(owner, { through: { owner, id: 4n } });
      assert.deepEqual(page.ids, [1n, 2n, 3n, 4n]);
      assert.equal((await read(owner, { through: { owner, id: 4n }, limit: 4 })).next, undefined);
      assert.deepEqual((await read(owner, { through: { owner, id: 4n }, limit: 3 })).next, { owner, id: 4n });
    });

    test('a list continues at the place of a deleted plant', async () => {
      const { store, user, create, read } = ready();
      const { id: owner } = await user();
      for (let n = 0; n < 4; n++) await create(owner);
      const { next } = await read(owner, { limit: 2 });
      await store.plants.delete(owner, 3n);
      assert.deepEqual((await read(owner, { from: next })).ids, [4n]);
    });

    test('a list ends at the largest id', async () => {
      const { store, user, create, walk } = ready();
      const { id: owner } = await user();
      await create(owner, MAX_ID);
      await create(owner, MAX_ID - 1n);
      assert.deepEqual(await walk(owner, 1), [MAX_ID - 1n, MAX_ID]);
      const end = { viewer: owner, from: undefined, count: 2 };
      const { last, next } = await store.plants.end(end);
      assert.deepEqual({ last, next }, { last: { owner, id: MAX_ID }, next: undefined });
    });

    test('the end of a list is the plant at the count, or the last one', async () => {
      const { store, user, create } = ready();
      const { id: owner } = await user();
      const end = async (count: number | undefined, id?: bigint) => {
        const from = id === undefined ? undefined : { owner, id };
        const { last, next } = await store.plants.end({ viewer: owner, from, count });
        return { last, next };
      };
      const at = (last: bigint | undefined, next?: bigint) => ({
        last: last === undefined ? undefined : { owner, id: last },
        next: next === undefined ? undefined : { owner, id: next },
      });
      assert.deepEqual(await end(undefined), at(undefined));
      assert.deepEqual(await end(5), at(undefined));
      for (let n = 0; n < 6; n++) await create(owner);
      assert.deepEqual(await end(undefined), at(6n));
      assert.deepEqual(await end(undefined, 7n), at(undefined));
      assert.deepEqual(await end(5), at(5n, 6n));
      assert.deepEqual(await end(6), at(6n));
      assert.deepEqual(await end(7), at(6n));
      assert.deepEqual(await end(2, 3n), at(4n, 5n));
    });
  });
}
