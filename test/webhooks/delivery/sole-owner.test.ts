import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soleOwner } from '../../../src/webhooks/delivery/sole-owner.ts';

test('a service that has just started assumes that the rate was just used, however the last one ended', async () => {
  let now = 0;
  const owner = soleOwner({ findWork: async () => [] }, false, () => now);
  const [atStart] = await owner.take(['wh_1']);
  now = 1_000;
  const [later] = await owner.take(['wh_2']);
  assert.deepEqual([atStart?.isInherited, later?.isInherited], [true, false]);
  assert.deepEqual([atStart?.isSuspect, later?.isSuspect], [false, false]);
});

test('of two calls at a time one takes a lane as suspect, and no later one does', async () => {
  const owner = soleOwner({ findWork: async (after) => (after ? [] : [{ webhook: 'wh_1', due: 0 }]) }, true);
  const both = await Promise.all([owner.take(['wh_1']), owner.take(['wh_2'])]);
  const later = await owner.take(['wh_1']);
  assert.deepEqual(
    [...both, later].map(([lane]) => lane?.isSuspect),
    [true, false, false],
  );
});
