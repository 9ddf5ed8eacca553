import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_ID, MIN_ID } from '../../../src/plants/plant.ts';
import type { Given } from '../../../testkit/stores/given.ts';

export function plantsConformance(ready: () => Given): void {
  describe('plants', () => {
    test('ids are exact at both ends of 64 bits and beyond 53', async () => {
      const { user, create, walk } = ready();
      const { id: owner } = await user();
      for (const id of [MAX_ID, MIN_ID, 9007199254740993n, 0n, -5n])
        assert.equal(await create(owner, id), id);
      assert.deepEqual(await walk(owner, 2), [MIN_ID, -5n, 0n, 9007199254740993n, MAX_ID]);
    });

    test('a second plant with the same id is refused and changes nothing', async () => {
      const { store, user, create, plant } = ready();
      const { id: owner } = await user();
      await create(owner, 7n, { name: 'first' });
      const outcome = await store.plants.create(plant(owner, { id: 7n, name: 'second' }));
      assert.equal(outcome, 'taken');
      const page = {
        viewer: owner,
        from: undefined,
        through: undefined,
        limit: 9,
        fields: ['name'] as const,
      };
      assert.equal((await store.plants.page(page)).json, '{"name":"first"}');
    });

    test('a duplicate id in a batch fails alone', async () => {
      const { store, user, plant } = ready();
      const { id: owner } = await user();
      const batch = [1n, 2n, 2n, 3n].map((id) => store.plants.create(plant(owner, { id })));
      assert.deepEqual(await Promise.all(batch), [1n, 2n, 'taken', 3n]);
    });

    test('a command that the store cannot run fails alone', async () => {
      const { store, user, plant, walk } = ready();
      const { id: owner } = await user();
      const noSuchOwner = 2 ** 40;
      const batch = [owner, noSuchOwner, owner].map((of) => store.plants.create(plant(of)));
      const outcomes = await Promise.allSettled(batch);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.deepEqual(await walk(owner, 10), [1n, 2n]);
    });

    test('two users may have the same id', async () => {
      const { user, create } = ready();
      for (const { id } of [await user(), await user()]) assert.equal(await create(id, 1n), 1n);
    });

    test('plants without an id in one batch get different ids', async () => {
      const { user, create } = ready();
      const { id: owner } = await user();
      const ids = await Promise.all(Array.from({ length: 50 }, () => create(owner)));
      assert.equal(new Set(ids).size, 50);
    });

    test('given and absent ids mix in one batch', async () => {
      const { user, plant, store, walk } = ready();
      const { id: owner } = await user();
      const wanted = [undefined, 100n, undefined, 50n, undefined, 102n, undefined];
      const batch = wanted.map((id) => store.plants.create(plant(owner, { id })));
      const removed = store.plants.delete(owner, 4n);
      const last = store.plants.create(plant(owner));
      const outcomes = await Promise.all([...batch, last]);
      assert.equal(await removed, true);
      assert.deepEqual(outcomes, [1n, 100n, 2n, 50n, 3n, 102n, 4n, 5n]);
      assert.deepEqual(await walk(owner, 10), [1n, 2n, 3n, 5n, 50n, 100n, 102n]);
    });

    test("deleting removes only one's own plant, once", async () => {
      const { store, user, create, walk } = ready();
      const [one, other] = [await user(), await user()];
      await create(one.id, 1n);
      assert.equal(await store.plants.delete(other.id, 1n), false);
      assert.equal(await store.plants.delete(one.id, 1n), true);
      assert.equal(await store.plants.delete(one.id, 1n), false);
      assert.deepEqual(await walk(one.id, 10), []);
    });

    test('an acknowledged plant is visible to the next read', async () => {
      const { user, create, read } = ready();
      const { id: owner } = await user();
      for (let n = 1; n <= 50; n++) {
        await create(owner);
        assert.equal((await read(owner, {})).count, n);
      }
    });

    test('reads and writes run concurrently', async () => {
      const { user, create, read } = ready();
      const { id: owner } = await user();
      const work = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? create(owner) : read(owner, {})));
      await Promise.all(work);
      const interleaved = async (n: number): Promise<void> => {
        await read(owner, {});
        await create(owner);
        if (n > 0) await interleaved(n - 1);
      };
      await Promise.all([interleaved(10), interleaved(10), interleaved(10)]);
      assert.equal((await read(owner, {})).count, 53);
    });
  });
}
