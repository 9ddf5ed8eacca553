import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstId } from '../../../src/runtime.ts';
import { AT, type Given } from '../../../testkit/stores/given.ts';

/** A store's own metrics, including those of other tests' webhooks. */
export function readingsConformance(ready: () => Given): void {
  describe('the readings', () => {
    test('webhooks are counted by status; a paused one counts as enabled too', async () => {
      const { store, user, webhook, create, attemptAll } = ready();
      const { id: owner } = await user();
      const before = await store.readings.webhooks(AT);
      const [paused, off, removed] = [await webhook(owner), await webhook(owner), await webhook(owner)];
      await store.webhooks.changeWebhook(owner, off, { at: AT, enabled: false });
      await store.webhooks.deleteWebhook(owner, removed);
      await create(owner);
      const next = { state: 'pending', due: AT, step: 1 } as const;
      await attemptAll(paused, { reason: 'no', next, laneState: { pausedUntil: AT + 10 } });
      const during = await store.readings.webhooks(AT);
      assert.equal(during.enabled, before.enabled + 1);
      assert.equal(during.paused, before.paused + 1);
      assert.equal(during.disabled, before.disabled + 1);
      assert.equal((await store.readings.webhooks(AT + 10)).paused, before.paused);
    });

    test('the oldest waiting event is reported separately for enabled and disabled webhooks', async () => {
      const { store, user, webhook, create, attemptAll, ids } = ready();
      const [one, other] = [await user(), await user()];
      const [on, off] = [await webhook(one.id), await webhook(other.id)];
      const [first, second, third] = [firstId('evt', 1), firstId('evt', 2), firstId('evt', 3)];
      await create(one.id, undefined, { event: second });
      await create(one.id, undefined, { event: ids.next('evt') });
      await create(other.id, undefined, { event: first });
      await create(other.id, undefined, { event: third });
      await store.webhooks.changeWebhook(other.id, off, { at: AT, enabled: false });
      const waiting = await store.readings.webhooks(AT);
      assert.deepEqual([waiting.oldestPending, waiting.oldestHeld], [second, first]);
      await attemptAll(on);
      const { oldestPending = '', oldestHeld } = await store.readings.webhooks(AT);
      assert.ok(oldestPending === '' || oldestPending > third);
      assert.equal(oldestHeld, first);
      await store.webhooks.deleteWebhook(other.id, off);
      assert.notEqual((await store.readings.webhooks(AT)).oldestHeld, first);
    });

    test('the oldest due time is reported, except for paused webhooks', async () => {
      const { store, user, webhook, create, attemptAll } = ready();
      const { id: owner } = await user();
      const hook = await webhook(owner);
      await create(owner);
      // Earlier than anything from other tests.
      const early = { state: 'pending', due: 5, step: 1 } as const;
      await attemptAll(hook, { reason: 'no', next: early });
      assert.equal((await store.readings.webhooks(4)).dueSince, undefined);
      assert.equal((await store.readings.webhooks(AT)).dueSince, 5);
      await attemptAll(hook, { reason: 'busy', next: early, laneState: { pausedUntil: AT + 10 } });
      assert.notEqual((await store.readings.webhooks(AT)).dueSince, 5);
    });

    test('a new store has a secret for its cursors, and a number that identifies it', () => {
      const { secret, storeKey } = ready().store.cursorKeys;
      assert.match(secret, /^[0-9a-f]{64}$/);
      assert.ok(Number.isInteger(storeKey), String(storeKey));
    });

    test('its size and its queue are known', async () => {
      const { store } = ready();
      const { bytes } = await store.readings.size();
      assert.ok(bytes >= 0);
      for (const { commands, ageMs } of store.readings.queues()) assert.deepEqual([commands, ageMs], [0, 0]);
    });
  });
}
