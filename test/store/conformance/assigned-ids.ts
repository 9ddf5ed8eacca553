import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LAST_ASSIGNED_ID, MAX_ID, MIN_ID, type PlantId } from '../../../src/plants/plant.ts';
import type { Given } from '../../../testkit/stores/given.ts';

/**
 * Assigned ids.
 *
 * @param run runs one statement in the store's database
 */
export function assignedIdsConformance(ready: () => Given, run: (sql: string) => Promise<unknown>): void {
  describe('assigned ids', () => {
    /** Acts as if the store had assigned the owner's ids up to `last`. */
    const setCounter = (owner: number, last: PlantId) =>
      run(`INSERT INTO assigned_ids (owner, last) VALUES (${owner}, ${last})`);

    /** Runs creates concurrently; returns their ids, and how many found none left. */
    async function createAll(owner: number, wanted: readonly (PlantId | undefined)[]) {
      const { store, plant } = ready();
      const outcomes = await Promise.all(wanted.map((id) => store.plants.create(plant(owner, { id }))));
      const assigned = outcomes.flatMap((outcome, n) =>
        wanted[n] === undefined && typeof outcome === 'bigint' ? [outcome] : [],
      );
      return { outcomes, assigned, spent: outcomes.filter((outcome) => outcome === 'spent').length };
    }

    test('they start at 1 and follow each other', async () => {
      const { user, create } = ready();
      const { id: owner } = await user();
      for (const id of [1n, 2n, 3n]) assert.equal(await create(owner), id);
    });

    test('the id of a plant that was deleted is not assigned again', async () => {
      const { store, user, create } = ready();
      const { id: owner } = await user();
      for (const id of [1n, 2n, 3n]) {
        assert.equal(await create(owner), id);
        assert.equal(await store.plants.delete(owner, id), true);
      }
      assert.equal(await create(owner), 4n);
    });

    test('an id chosen by the client does not move the counter', async () => {
      const { user, create } = ready();
      const { id: owner } = await user();
      assert.equal(await create(owner), 1n);
      for (const id of [MAX_ID, MIN_ID, 9007199254740993n, LAST_ASSIGNED_ID, 1000n, 0n]) {
        await create(owner, id);
      }
      assert.equal(await create(owner), 2n);
    });

    test('a taken id is skipped', async () => {
      const { user, create } = ready();
      const { id: owner } = await user();
      for (const id of [1n, 2n, 4n]) await create(owner, id);
      assert.equal(await create(owner), 3n);
      assert.equal(await create(owner), 5n);
    });

    test('a long run of taken ids is skipped at once', async () => {
      const { user, create } = ready();
      const { id: owner } = await user();
      await createAll(
        owner,
        Array.from({ length: 1500 }, (_, n) => BigInt(n + 1)),
      );
      assert.equal(await create(owner), 1501n);
      assert.equal(await create(owner), 1502n);
    });

    test('a thousand ids with a free one between any two do not stop concurrent creates', async () => {
      const { user } = ready();
      const { id: owner } = await user();
      await createAll(
        owner,
        Array.from({ length: 1000 }, (_, n) => BigInt(2 * n + 2)),
      );
      const { assigned } = await createAll(owner, Array(100).fill(undefined));
      assert.equal(new Set(assigned).size, 100);
      assert.ok(assigned.every((id) => id > 2000n || id % 2n === 1n));
      assert.ok(assigned.every((id) => id < 10_000n));
    });

    test('ids that clients choose just ahead of the counter fail no create', async () => {
      const { store, user } = ready();
      const { id: owner } = await user();
      const all: PlantId[] = [];
      for (let round = 0; round < 20; round++) {
        const front = (all.at(-1) ?? 0n) + 1n;
        const wanted = Array.from({ length: 8 }, (_, n) => (n % 2 ? front + BigInt(n) : undefined));
        const { assigned, outcomes } = await createAll(owner, wanted);
        assert.equal(assigned.length, 4);
        assert.ok(outcomes.every((outcome) => typeof outcome === 'bigint' || outcome === 'taken'));
        all.push(...assigned.toSorted((a, b) => Number(a - b)));
        assert.equal(await store.plants.delete(owner, all.at(-1) ?? 0n), true);
      }
      assert.equal(new Set(all).size, 80);
    });

    test('two users have separate counters', async () => {
      const { user, create } = ready();
      for (const { id } of [await user(), await user()]) assert.equal(await create(id), 1n);
    });

    test('the last one is the largest integer that every JSON reader preserves', async () => {
      const { user, create } = ready();
      const { id: owner } = await user();
      await setCounter(owner, LAST_ASSIGNED_ID - 3n);
      const { assigned, spent } = await createAll(owner, Array(5).fill(undefined));
      assert.deepEqual(assigned, [LAST_ASSIGNED_ID - 2n, LAST_ASSIGNED_ID - 1n, LAST_ASSIGNED_ID]);
      assert.equal(spent, 2);
      assert.equal((await createAll(owner, [undefined])).spent, 1);
      assert.equal(await create(owner, 7n), 7n);
    });

    test('none is left when all up to the last one are taken', async () => {
      const { store, user, create } = ready();
      const { id: owner } = await user();
      await setCounter(owner, LAST_ASSIGNED_ID - 500n);
      const left = Array.from({ length: 500 }, (_, n) => LAST_ASSIGNED_ID - BigInt(n));
      await createAll(owner, left);
      assert.equal((await createAll(owner, [undefined])).spent, 1);
      assert.equal(await store.plants.delete(owner, LAST_ASSIGNED_ID), true);
      assert.equal((await createAll(owner, [undefined])).spent, 1);
      assert.equal(await create(owner, LAST_ASSIGNED_ID), LAST_ASSIGNED_ID);
    });
  });
}
