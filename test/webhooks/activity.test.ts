import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { firstId } from '../../src/runtime.ts';
import { activityOf } from '../../src/webhooks/activity.ts';
import { given } from '../../testkit/stores/given.ts';
import { openTemporaryStore } from '../../testkit/stores/temporary-store.ts';

const HOUR = 3_600_000;
const NOW = Date.parse('2026-03-01T12:30:00Z');

const { store, drop } = await openTemporaryStore();
after(drop);
const { create, user } = given(store);
const parts = { deliveries: store.deliveries, clock: { now: () => NOW } };

/** A user who created this many plants in each of the last hours, the newest hour last. */
async function ownerOf(...counts: number[]): Promise<number> {
  const { id: owner } = await user();
  for (const [index, count] of counts.entries()) {
    const from = NOW - HOUR * (counts.length - 1 - index);
    for (let n = 0; n < count; n++) await create(owner, undefined, { event: firstId('evt', from + n) });
  }
  return owner;
}

test('a plant counts in the hour of its event', async () => {
  const owner = await ownerOf(1, 0, 2);
  const hours = await activityOf(parts, owner, 4);
  assert.deepEqual(
    hours.map(({ from, plants }) => [new Date(from).toISOString(), plants]),
    [
      ['2026-03-01T09:00:00.000Z', 0],
      ['2026-03-01T10:00:00.000Z', 1],
      ['2026-03-01T11:00:00.000Z', 0],
      ['2026-03-01T12:00:00.000Z', 2],
    ],
  );
});

test('the older hours are omitted when there is too much to count', async () => {
  const owner = await ownerOf(4, 3, 2);
  const plants = async (most: number) =>
    (await activityOf(parts, owner, 24, most)).map((hour) => hour.plants).filter((count) => count > 0);
  assert.deepEqual(await plants(9), [4, 3, 2]);
  assert.deepEqual(await plants(8), [3, 2]);
  assert.deepEqual(await plants(1), []);
});
