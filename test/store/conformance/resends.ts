import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attemptsOf, deliveriesTo, deliveryTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

/** What a redelivery and a replay mean for a delivery, whatever becomes of it meanwhile. */
export function resendsConformance(ready: () => Given): void {
  const failed = { reason: 'no', next: { state: 'failed' } } as const;

  describe('sending again', () => {
    test('a delivery in any state can be resent, with a new schedule', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(4);
      const [one, two, three] = await due(hook);
      assert.ok(one && two && three);
      await ready().record(outcomeOf(one));
      await ready().record(outcomeOf(two, failed));
      const next = { state: 'pending', due: AT + 1e9, step: 5 } as const;
      await ready().record(outcomeOf(three, { reason: 'no', next }));
      const events = (await deliveriesTo(store, { owner, id: hook })).map(({ event }) => event.id);
      for (const event of events) {
        const outcome = await store.deliveries.redeliver({ owner, webhook: hook, event, at: AT });
        assert.equal(outcome, 'redelivered');
      }
      const again = await due(hook);
      assert.deepEqual(
        again.map(({ step, isAsked }) => [step, isAsked]),
        Array(4).fill([0, true]),
      );
    });

    test('a resent delivery of a disabled webhook is held', async () => {
      const { store, attemptAll } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const [made] = await attemptAll(hook);
      assert.ok(made);
      await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: false });
      await store.deliveries.redeliver({ owner, webhook: hook, event: made.event.id, at: AT });
      assert.equal((await deliveryTo(store, owner, hook, made.event.id))?.state, 'held');
    });

    test('events from before the webhook was created are sent too', async () => {
      const { user, create, webhook, due } = ready();
      const { id: owner } = await user();
      for (let n = 0; n < 4; n++) await create(owner);
      const hook = await webhook(owner);
      assert.equal(await ready().replay(owner, hook), 4);
      assert.equal((await due(hook)).length, 4);
    });

    test('only deliveries in the named state are resent', async () => {
      const { due } = ready();
      const { owner, hook } = await ready().subscriber(7);
      for (const [n, one] of (await due(hook)).entries()) {
        await ready().record(outcomeOf(one, n % 2 === 0 ? failed : {}));
      }
      assert.equal(await ready().replay(owner, hook, 'failed'), 4);
      assert.deepEqual(
        (await due(hook)).map(({ event }) => event.plant.id),
        [1n, 3n, 5n, 7n],
      );
      assert.equal(await ready().replay(owner, hook, 'held'), 0);
    });

    test('a delivery replayed during its attempt keeps its generation, and is delivered when it succeeds', async () => {
      const { due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const [made] = await due(hook);
      assert.ok(made);
      await ready().replay(owner, hook);
      const [again] = await due(hook);
      assert.deepEqual([again?.generation, again?.step], [made.generation, -1]);
      assert.equal(await ready().record(outcomeOf(made)), 'settled');
      assert.equal((await due(hook, { now: AT + 1e6 })).length, 0);
    });

    test('a delivery replayed again during the attempt of a replay gets a new schedule', async () => {
      const { due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await ready().replay(owner, hook);
      const [made] = await due(hook);
      assert.ok(made);
      await ready().replay(owner, hook);
      assert.equal(await ready().record(outcomeOf(made, failed)), 'anew');
      assert.equal((await due(hook))[0]?.step, 0);
    });

    test('a delivery of an enabled webhook cannot fail for good before its schedule is restarted', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(2);
      const [first, second] = await due(hook);
      assert.ok(first && second);
      const next = { state: 'pending', due: AT, step: 1 } as const;
      for (const one of [first, second]) await ready().record(outcomeOf(one, { reason: 'no', next }));
      const [last, other] = await due(hook);
      assert.ok(last && other);
      for (const enabled of [false, true])
        await store.webhooks.changeWebhook(owner, hook, { enabled, at: AT });
      assert.equal(await ready().record(outcomeOf(last, failed)), 'anew');
      await ready().finishChores();
      assert.deepEqual(
        (await due(hook)).map(({ step }) => step <= 0),
        [true, true],
      );
      // Without a schedule to restart, the last attempt is the last.
      const [, again] = await due(hook);
      assert.ok(again);
      assert.equal(await ready().record(outcomeOf(again, failed)), 'settled');
    });

    test('a delivery replayed during its last attempt gets a new schedule', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const [first] = await due(hook);
      assert.ok(first);
      const next = { state: 'pending', due: AT, step: 9 } as const;
      await ready().record(outcomeOf(first, { reason: 'no', next }));
      const [last] = await due(hook);
      assert.ok(last);
      await ready().replay(owner, hook);
      assert.equal(await ready().record(outcomeOf(last, failed)), 'anew');
      const [again] = await due(hook);
      assert.equal(again?.step, 0);
      assert.equal((await attemptsOf(store, owner, hook, last.event.id)).length, 2);
    });
  });
}
