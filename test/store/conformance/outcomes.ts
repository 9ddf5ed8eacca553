import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { deliveriesTo, deliveryTo } from '../../../testkit/stores/deliveries.ts';
import { AT, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

/** What delivery records. */
export function outcomesConformance(ready: () => Given): void {
  const failed = { reason: 'no', next: { state: 'failed' } } as const;
  const retried = { reason: 'no', next: { state: 'pending', due: AT, step: 1 } } as const;

  /** A webhook with this many deliveries, already read. */
  async function waiting(count: number) {
    const { owner, hook } = await ready().subscriber(count);
    return { owner, hook, found: await ready().due(hook) };
  }

  async function one() {
    const { owner, hook, found } = await waiting(1);
    const [made] = found;
    assert.ok(made);
    return { owner, hook, made };
  }

  const attemptsOf = async (owner: number, hook: string, event: string) =>
    (await ready().store.deliveries.history(owner, hook, event)).attempts;
  const shown = (owner: number, hook: string, event: string) => deliveryTo(ready().store, owner, hook, event);

  describe('outcomes', () => {
    test('a successful delivery is no longer due', async () => {
      const { due, record } = ready();
      const { hook, made } = await one();
      assert.equal(await record(outcomeOf(made)), 'settled');
      assert.deepEqual(await due(hook, { now: AT + 99_999 }), []);
    });

    test('outcomes in one transaction each have their own result', async () => {
      const { store } = ready();
      const { owner, hook, found } = await waiting(3);
      const [first, second, third] = found;
      assert.ok(first && second && third);
      const stranger = { ...third, event: { ...third.event, id: 'evt_0' } };
      const results = await ready()
        .lanes()
        .record([outcomeOf(first), outcomeOf(stranger), outcomeOf(second, failed)]);
      assert.deepEqual(results, ['settled', 'gone', 'settled']);
      const states = await deliveriesTo(store, { owner, id: hook });
      assert.deepEqual(
        states.map(({ state }) => state),
        ['pending', 'failed', 'delivered'],
      );
    });

    test('a failed delivery is due again when its outcome says', async () => {
      const { due, record } = ready();
      const { hook, made } = await one();
      const next = { state: 'pending', due: AT + 5000, step: 1 } as const;
      await record(outcomeOf(made, { reason: 'status 500', next }));
      assert.deepEqual(await due(hook, { now: AT + 4999 }), []);
      const [second] = await due(hook, { now: AT + 5000 });
      assert.deepEqual([second?.step, second?.generation], [1, made.generation + 1]);
    });

    test('a recorded attempt is not written twice', async () => {
      const { record } = ready();
      for (const outcome of [{}, failed, retried]) {
        const { owner, hook, made } = await one();
        for (let times = 0; times < 3; times++)
          assert.equal(await record(outcomeOf(made, outcome)), 'settled');
        assert.equal((await shown(owner, hook, made.event.id))?.attempts, 1);
        assert.equal((await attemptsOf(owner, hook, made.event.id)).length, 1);
      }
    });

    test('a redelivery voids a pending outcome: the attempt is kept, and the delivery is due', async () => {
      const { store, due, record } = ready();
      const { owner, hook, made } = await one();
      const event = made.event.id;
      await store.deliveries.redeliver({ owner, webhook: hook, event, at: AT });
      const late = outcomeOf(made, { ...failed, attempt: { ...outcomeOf(made).attempt, at: AT + 3 } });
      assert.equal(await record(late), 'late');
      assert.equal(await record(late), 'settled');
      const [again] = await due(hook);
      assert.ok(again);
      assert.equal(again.generation, made.generation + 1);
      assert.equal(await record(outcomeOf(again)), 'settled');
      const { state, attempts, reason } = (await shown(owner, hook, event)) ?? {};
      assert.deepEqual([state, attempts, reason], ['delivered', 2, undefined]);
      assert.deepEqual(
        (await attemptsOf(owner, hook, event)).map(({ at }) => at),
        [AT + 3, AT],
      );
    });

    test('of two outcomes of one generation the second is ignored', async () => {
      const { record } = ready();
      const { owner, hook, made } = await one();
      assert.equal(await record(outcomeOf(made)), 'settled');
      const other = outcomeOf(made, { ...failed, attempt: { ...outcomeOf(made).attempt, at: AT + 3 } });
      assert.equal(await record(other), 'late');
      const { state, attempts } = (await shown(owner, hook, made.event.id)) ?? {};
      assert.deepEqual([state, attempts], ['delivered', 1]);
      assert.equal((await attemptsOf(owner, hook, made.event.id)).length, 1);
    });

    test('an attempt is stored with all of its details', async () => {
      const { record } = ready();
      const { owner, hook, made } = await one();
      const attempt = {
        at: AT + 3,
        durationMs: 7,
        address: '192.0.2.7',
        status: 500,
        excerpt: 'we are sorry ☹',
        error: 'broken off',
      };
      const next = { state: 'pending', due: AT + 5, step: 1 } as const;
      await record(outcomeOf(made, { attempt, reason: 'it broke', next }));
      assert.deepEqual(await attemptsOf(owner, hook, made.event.id), [attempt]);
      const { state, attempts, reason, nextAttemptAt } = (await shown(owner, hook, made.event.id)) ?? {};
      assert.deepEqual([state, attempts, reason, nextAttemptAt], ['pending', 1, 'it broke', AT + 5]);
    });

    test('a delivery is read with its attempts of the same moment', async () => {
      const { store, due, record } = ready();
      const { owner, hook, made } = await one();
      let isOver = false;
      async function attempt(): Promise<void> {
        for (let n = 0; n < 50; n++) {
          const [again] = await due(hook);
          if (again) await record(outcomeOf(again, retried));
        }
        isOver = true;
      }
      const attempting = attempt();
      for (; !isOver; await setImmediate()) {
        const { delivery, attempts } = await store.deliveries.history(owner, hook, made.event.id);
        assert.equal(attempts.length, delivery?.attempts);
      }
      await attempting;
    });

    test('only the newest attempts are kept, but all are counted', async () => {
      const { due, record } = ready();
      const { owner, hook } = await ready().subscriber(1);
      let event = '';
      for (let n = 0; n < 103; n++) {
        const [made] = await due(hook);
        assert.ok(made);
        event = made.event.id;
        await record(outcomeOf(made, { ...retried, attempt: { ...outcomeOf(made).attempt, at: AT + n } }));
      }
      assert.equal((await shown(owner, hook, event))?.attempts, 103);
      const kept = await attemptsOf(owner, hook, event);
      assert.deepEqual([kept.length, kept[0]?.at], [100, AT + 3]);
    });

    test('the outcome of a delivery whose share was removed is dropped', async () => {
      const { store, user, webhook, create, due, record, finishChores } = ready();
      const [ann, bob] = [await user(), await user()];
      const hook = await webhook(bob.id);
      await store.access.addShare({ owner: ann.name, viewer: bob.name, at: AT }, 10);
      await create(ann.id);
      const [made] = await due(hook);
      assert.ok(made);
      await store.access.removeShare({ owner: ann.name, viewer: bob.name });
      assert.deepEqual(await due(hook), []);
      assert.equal(await record(outcomeOf(made)), 'gone');
      // Shared again, it is not among the new ones.
      await store.access.addShare({ owner: ann.name, viewer: bob.name, at: AT }, 10);
      assert.equal(await record(outcomeOf(made)), 'gone');
      assert.deepEqual(await attemptsOf(bob.id, hook, made.event.id), []);
      assert.equal((await store.webhooks.webhook(bob.id, hook))?.lastSuccessAt, undefined);
      await finishChores();
    });

    test('a late outcome of a removed delivery does not stop those of the one created again', async () => {
      const { store, user, webhook, create, due, record, finishChores, replay } = ready();
      const [ann, bob] = [await user(), await user()];
      const hook = await webhook(bob.id);
      const share = { owner: ann.name, viewer: bob.name };
      const fail = async (at: number) => {
        const [made] = await due(hook);
        assert.ok(made);
        return record(outcomeOf(made, { ...retried, attempt: { ...outcomeOf(made).attempt, at } }));
      };
      await store.access.addShare({ ...share, at: AT }, 10);
      await create(ann.id);
      await fail(AT);
      const [inFlight] = await due(hook);
      assert.ok(inFlight);
      await store.access.removeShare(share);
      await finishChores();
      await store.access.addShare({ ...share, at: AT }, 10);
      assert.equal(await replay(bob.id, hook), 1);
      assert.equal(await record(outcomeOf(inFlight, retried)), 'late');
      assert.equal(await fail(AT + 1), 'settled');
      assert.equal(await fail(AT + 2), 'settled');
      assert.deepEqual(
        (await attemptsOf(bob.id, hook, inFlight.event.id)).map(({ at }) => at),
        [AT + 1, AT + 2],
      );
    });

    test('a delivery keeps how often a send was interrupted, until an attempt is recorded', async () => {
      const { due, record } = ready();
      const { hook, made } = await one();
      const suspicions = async () => (await due(hook))[0]?.suspicions;
      for (const times of [1, 2, 2]) {
        await ready().lanes().suspect(hook, made.event.id, made.generation, times);
        assert.equal(await suspicions(), times);
      }
      await ready()
        .lanes()
        .suspect(hook, made.event.id, made.generation + 1, 3);
      assert.equal(await suspicions(), 2);
      await record(outcomeOf(made, retried));
      assert.equal(await suspicions(), 0);
    });

    test('a resent delivery is no longer suspected', async () => {
      const { store, due } = ready();
      const { owner, hook, made } = await one();
      await ready().lanes().suspect(hook, made.event.id, made.generation, 1);
      await store.deliveries.redeliver({ owner, webhook: hook, event: made.event.id, at: AT });
      assert.equal((await due(hook))[0]?.suspicions, 0);
      for (const state of ['pending', undefined] as const) {
        await ready()
          .lanes()
          .suspect(hook, made.event.id, made.generation + 1, 1);
        assert.equal((await due(hook))[0]?.suspicions, 1);
        await store.deliveries.startReplay({ owner, webhook: hook, from: 'evt_', state }, 10);
        await ready().finishChores();
        assert.equal((await due(hook))[0]?.suspicions, 0);
      }
    });
  });

  describe("an outcome's effect on its webhook", () => {
    test('a pause and its end are recorded', async () => {
      const { store, due, record } = ready();
      const { owner, hook, found } = await waiting(2);
      const [first, second] = found;
      assert.ok(first && second);
      await record(outcomeOf(first, { ...retried, laneState: { pausedUntil: AT + 500 } }));
      assert.equal((await store.webhooks.webhook(owner, hook))?.pausedUntil, AT + 500);
      assert.equal((await due(hook))[0]?.webhook.pausedUntil, AT + 500);
      await record(outcomeOf(second));
      assert.equal((await store.webhooks.webhook(owner, hook))?.pausedUntil, undefined);
    });

    test("the last of several outcomes determines the webhook's state, except for a disabling", async () => {
      const { store } = ready();
      const { owner, hook, found } = await waiting(3);
      const [first, second, third] = found;
      assert.ok(first && second && third);
      const at = (time: number) => ({ ...outcomeOf(first).attempt, at: time });
      await ready()
        .lanes()
        .record([
          outcomeOf(first, { ...retried, attempt: at(AT + 1), laneState: { pausedUntil: AT + 50 } }),
          outcomeOf(second, { ...retried, attempt: at(AT + 2), laneState: { disabledReason: 'it is gone' } }),
          outcomeOf(third, { attempt: at(AT + 3) }),
        ]);
      const webhook = await store.webhooks.webhook(owner, hook);
      assert.deepEqual(
        [webhook?.status, webhook?.disabledReason, webhook?.pausedUntil],
        ['disabled', 'it is gone', undefined],
      );
      assert.deepEqual([webhook?.lastFailureAt, webhook?.lastSuccessAt], [AT + 2, AT + 3]);
    });

    test('the last success and failure of a webhook never go back, whatever the order of outcomes', async () => {
      const { store, lanes } = ready();
      const { owner, hook, found } = await waiting(8);
      const ats = [AT + 9, AT + 8, AT + 3, AT + 2, AT + 11, AT + 13, AT + 10, AT + 12];
      const outcomes = found.map((made, i) => {
        const attempt = { ...outcomeOf(made).attempt, at: ats[i] ?? AT };
        return outcomeOf(made, i % 2 === 0 ? { attempt } : { ...retried, attempt });
      });
      const last = async () => {
        const webhook = await store.webhooks.webhook(owner, hook);
        return [webhook?.lastSuccessAt, webhook?.lastFailureAt];
      };
      await lanes().record(outcomes.slice(0, 2));
      await lanes().record(outcomes.slice(2, 4));
      assert.deepEqual(await last(), [AT + 9, AT + 8]);
      // In one transaction.
      await lanes().record(outcomes.slice(4));
      assert.deepEqual(await last(), [AT + 11, AT + 13]);
    });

    test('a failure that disables its webhook holds its waiting deliveries', async () => {
      const { store, create, due, record } = ready();
      const { owner, hook, found } = await waiting(2);
      const [made] = found;
      assert.ok(made);
      await record(outcomeOf(made, { ...retried, laneState: { disabledReason: 'it is gone' } }));
      await create(owner);
      const webhook = await store.webhooks.webhook(owner, hook);
      assert.deepEqual([webhook?.status, webhook?.disabledReason], ['disabled', 'it is gone']);
      assert.deepEqual(
        (await deliveriesTo(store, { owner, id: hook })).map(({ state }) => state),
        ['held', 'held', 'held'],
      );
      assert.deepEqual(await due(hook, { now: AT + 1e6 }), []);
    });

    test('a webhook disabled or deleted by its owner stays so', async () => {
      const { store, record } = ready();
      const [off, gone] = [await one(), await one()];
      await store.webhooks.changeWebhook(off.owner, off.hook, { at: AT, enabled: false });
      await store.webhooks.deleteWebhook(gone.owner, gone.hook);
      for (const { made } of [off, gone])
        await record(outcomeOf(made, { ...retried, laneState: { disabledReason: 'it is gone' } }));
      const webhook = await store.webhooks.webhook(off.owner, off.hook);
      assert.deepEqual([webhook?.status, webhook?.disabledReason], ['disabled', undefined]);
      assert.equal(await store.webhooks.webhook(gone.owner, gone.hook), undefined);
    });

    test('answers from an old URL, or from before the webhook was enabled, are ignored', async () => {
      const { store, record } = ready();
      for (const change of [{ url: 'https://example.org/new' }, { enabled: true }]) {
        const { owner, hook, made } = await one();
        await store.webhooks.changeWebhook(owner, hook, { at: AT, ...change });
        const laneState = { pausedUntil: AT + 99, disabledReason: 'it is gone' };
        // A chore restarts the schedule of what waits, or the change itself does.
        const isLater = await store.chores.hasChores(AT);
        assert.equal(await record(outcomeOf(made, { ...retried, laneState })), isLater ? 'settled' : 'anew');
        const webhook = await store.webhooks.webhook(owner, hook);
        assert.deepEqual([webhook?.status, webhook?.pausedUntil], ['enabled', undefined]);
        // It still counts as an attempt.
        assert.equal(webhook?.lastFailureAt, AT);
        await ready().finishChores();
      }
    });

    test('changes of its description, rate and secret do not affect its state', async () => {
      const { store, record } = ready();
      const { owner, hook, made } = await one();
      await store.webhooks.changeWebhook(owner, hook, { at: AT, description: 'mine', rate: 5 });
      const rotation = { secret: 'whsec_y', at: AT, overlapUntil: AT, most: 3 };
      await store.webhooks.rotateSecret(owner, hook, rotation);
      await record(outcomeOf(made, { ...retried, laneState: { pausedUntil: AT + 99 } }));
      assert.equal((await store.webhooks.webhook(owner, hook))?.pausedUntil, AT + 99);
    });
  });
}
