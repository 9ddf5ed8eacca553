import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Claim, DeliveryOutcome } from '../../src/webhooks/port.ts';
import { AT, type Given, outcomeOf } from './given.ts';

/** What the dispatcher does with the store. */
export function outboxConformance(ready: () => Given): void {
  describe('the outbox', () => {
    test('a new plant becomes one delivery for each webhook of its owner', async () => {
      const { user, webhook, create, claim, ids } = ready();
      const [one, other] = [await user(), await user()];
      const hooks = [await webhook(one.id), await webhook(one.id)];
      const foreign = await webhook(other.id);
      const event = ids.next('evt');
      await create(one.id, 9007199254740993n, { event, name: 'Alder', tag: undefined });
      const claims = await claim();
      for (const hook of hooks) {
        const [mine] = claims.filter((made) => made.webhook.id === hook);
        assert.deepEqual(mine?.event, {
          id: event,
          type: 'plant.created',
          at: AT,
          plant: { id: 9007199254740993n, name: 'Alder', tag: undefined },
        });
        assert.deepEqual(mine.webhook.secrets, ['whsec_x']);
      }
      assert.deepEqual(
        claims.filter((made) => made.webhook.id === foreign),
        [],
      );
    });

    test('a plant that is refused has no event and no delivery', async () => {
      const { store, plant, claim } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await store.plants.create(plant(owner, { id: 1n }));
      assert.equal((await claim(hook)).length, 1);
    });

    test('the trace in which an event was made comes with each claim of it', async () => {
      const { store, plant, claim, ids } = ready();
      const { owner, hook } = await ready().subscriber(0);
      const trace = (n: number) => `00-${String(n).repeat(32)}-${'a'.repeat(16)}-01`;
      const caller = { user: owner, hasLeft: () => false, once: undefined };
      // With an id that is chosen and with one that is given; in a trace with a state, and in none.
      await store.plants.create(plant(owner, { trace: trace(1) }), caller);
      await store.plants.create(plant(owner, { id: 7n, trace: `${trace(2)} a=1,b=2` }), caller);
      await store.plants.create(plant(owner), caller);
      const event = { id: ids.next('evt'), type: 'plant.test', at: AT } as const;
      const test = { ...event, plant: { id: 0n, name: 'Alder', tag: undefined } };
      const due = AT;
      await store.deliveries.createTest({ owner, webhook: hook, event: test, due, trace: trace(4) });
      const expected = [trace(1), `${trace(2)} a=1,b=2`, undefined, trace(4)];
      const first = await claim(hook);
      assert.deepEqual(
        first.map((made) => made.trace),
        expected,
      );
      // Of an attempt that failed, and of one that nobody heard of again.
      const next = { state: 'pending', due: AT + 1, step: 1 } as const;
      for (const made of first.slice(0, 2))
        await store.outbox.record(outcomeOf(made, { next, reason: 'no' }));
      const again = await claim(hook, { now: AT + 2000, leaseUntil: AT + 3000 });
      assert.deepEqual(again.map((made) => made.trace).sort(), [...expected].sort());
    });

    test('a deleted plant is announced all the same', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await store.plants.delete(owner, 1n);
      assert.equal((await claim(hook))[0]?.event.plant.name, 'Alder');
    });

    test('plants and a webhook in one batch are subscribed in the order of the calls', async () => {
      const { user, webhook, create, claim } = ready();
      const { id: owner } = await user();
      const [, hook] = await Promise.all([create(owner), webhook(owner), create(owner)]);
      assert.deepEqual(
        (await claim(hook)).map(({ event }) => event.plant.id),
        [2n],
      );
    });

    test('a claimed delivery is not claimed again before its lease ends', async () => {
      const { claim } = ready();
      const { hook } = await ready().subscriber(3);
      assert.equal((await claim(hook)).length, 3);
      assert.equal((await claim(hook)).length, 0);
      assert.equal((await claim(hook, { now: AT + 1001, leaseUntil: AT + 2000 })).length, 3);
    });

    test('an outcome with an older fence comes too late and changes nothing', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(1);
      const [first] = await claim(hook);
      const [second] = await claim(hook, { now: AT + 1001, leaseUntil: AT + 2000 });
      assert.ok(first && second);
      assert.equal(await store.outbox.record(outcomeOf(first)), 'late');
      assert.equal((await claim(hook, { now: AT + 2001, leaseUntil: AT + 3000 })).length, 1);
    });

    test('what was delivered is not claimed again', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(1);
      const [made] = await claim(hook);
      assert.ok(made);
      assert.equal(await store.outbox.record(outcomeOf(made)), 'settled');
      assert.equal(await store.outbox.record(outcomeOf(made)), 'late');
      assert.equal((await claim(hook, { now: AT + 99_999 })).length, 0);
    });

    test('a delivery that failed is due again when its outcome says so', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(1);
      const [made] = await claim(hook);
      assert.ok(made);
      const next = { state: 'pending', due: AT + 5000, step: 1 } as const;
      await store.outbox.record(outcomeOf(made, { reason: 'status 500', next }));
      assert.equal((await claim(hook, { now: AT + 4999 })).length, 0);
      const [second] = await claim(hook, { now: AT + 5000 });
      assert.equal(second?.step, 1);
      assert.equal(second.fence, made.fence + 1);
    });

    test('each webhook has its share of a claim, however long the queue of another is', async () => {
      const { claim } = ready();
      const [long, short] = [await ready().subscriber(30), await ready().subscriber(2)];
      const claims = await claim(undefined, { limit: 10, places: { each: 8, of: new Map() } });
      const of = (hook: string) => claims.filter((made) => made.webhook.id === hook).length;
      assert.equal(of(short.hook), 2);
      assert.equal(of(long.hook), 8);
    });

    test('a webhook with a long backlog does not always come before one whose delivery is new', async () => {
      const { store, create, claim } = ready();
      const far = AT + 1e11;
      const backlogs = [await ready().subscriber(0), await ready().subscriber(0)];
      for (const { owner } of backlogs)
        for (let n = 0; n < 5; n++) await create(owner, undefined, { at: far });
      const fresh = await ready().subscriber(0);
      const hooks = new Set([...backlogs, fresh].map(({ hook }) => hook));
      const dealt: string[] = [];
      for (let n = 1; n <= 6; n++) {
        if (n === 3) await create(fresh.owner, undefined, { at: far + 3 });
        const [one] = await claim(undefined, {
          now: far + n,
          leaseUntil: far + 1e6,
          limit: 1,
          places: { each: 1, of: new Map(await others(hooks)) },
        });
        if (one) dealt.push(one.webhook.id);
      }
      assert.ok(dealt.includes(fresh.hook), 'it was left out');
      assert.equal(dealt.length, 6);

      /** Places for the webhooks of this test only. */
      async function others(mine: ReadonlySet<string>): Promise<[string, number][]> {
        const users = await store.access.users();
        const all = await Promise.all(users.map(({ id }) => store.webhooks.webhooks(id)));
        return all.flat().flatMap(({ id }) => (mine.has(id) ? [] : [[id, 0]]));
      }
    });

    test('the webhook that has waited for longest comes first when there is room for few', async () => {
      const { create, webhook, user, claim } = ready();
      await claim(undefined, { now: AT + 1e9, leaseUntil: AT + 2e9 });
      const hooks: string[] = [];
      for (const at of [AT + 3, AT + 1, AT + 2]) {
        const { id: owner } = await user();
        hooks.push(await webhook(owner));
        await create(owner, undefined, { at });
      }
      const claims = await claim(undefined, { now: AT + 9, limit: 2 });
      assert.deepEqual(
        claims.map((made) => made.webhook.id),
        [hooks[1], hooks[2]],
      );
    });

    test('a webhook whose places are known is dealt as many as these', async () => {
      const { claim } = ready();
      const { hook } = await ready().subscriber(10);
      const places = (free: number) => ({ places: { each: 8, of: new Map([[hook, free]]) } });
      assert.equal((await claim(hook, places(3))).length, 3);
      assert.equal((await claim(hook, places(0))).length, 0);
    });

    test('full lanes leave room for those behind them', async () => {
      const { claim } = ready();
      await claim(undefined, { now: AT + 1e9, leaseUntil: AT + 2e9 });
      const [full, other] = [await ready().subscriber(2), await ready().subscriber(2)];
      const places = { each: 8, of: new Map([[full.hook, 0]]) };
      const claims = await claim(undefined, { limit: 1, places });
      assert.deepEqual(
        claims.map(({ webhook }) => webhook.id),
        [other.hook],
      );
    });

    test('of a webhook with a rate one delivery is claimed, unless its places are known', async () => {
      const { user, webhook, create, claim } = ready();
      const { id: owner } = await user();
      const hook = await webhook(owner, { rate: 5 });
      for (let n = 0; n < 4; n++) await create(owner);
      const [one, ...others] = await claim(hook);
      assert.equal(one?.webhook.rate, 5);
      assert.equal(others.length, 0);
      const places = { each: 8, of: new Map([[hook, 2]]) };
      assert.equal((await claim(hook, { places })).length, 2);
    });

    test('released leases are due at once', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(2);
      await claim(hook);
      await store.outbox.releaseLeases(AT + 10);
      assert.equal((await claim(hook, { now: AT + 10 })).length, 2);
    });

    test('a claim that is given back is due as it was, unless it was claimed again', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(1);
      const [first] = await claim(hook);
      assert.ok(first);
      await store.outbox.giveBack(first);
      const [second] = await claim(hook);
      assert.deepEqual([second?.due, second?.step, second?.fence], [first.due, 0, first.fence + 1]);
      await store.outbox.giveBack(first);
      assert.equal((await claim(hook)).length, 0);
    });

    test('deleting a webhook drops what waits for it', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await ready().subscriber(3);
      await store.webhooks.deleteWebhook(owner, hook);
      assert.equal((await claim(hook)).length, 0);
    });

    test('a commit that makes deliveries due is hinted at', async () => {
      const { store, create } = ready();
      const { owner } = await ready().subscriber(0);
      const hinted = new Promise<void>((resolve) => store.outbox.onDue(resolve));
      await create(owner);
      await hinted;
    });

    test('the next due time is the first one after that which is asked for', async () => {
      const { store, create, claim } = ready();
      const { owner, hook } = await ready().subscriber(0);
      const { owner: other } = await ready().subscriber(0);
      // Later than anything that other tests left.
      const late = AT + 1e12;
      await create(owner, undefined, { at: late + 77 });
      await create(other, undefined, { at: late + 88 });
      assert.equal(await store.outbox.nextDue(late), late + 77);
      assert.equal(await store.outbox.nextDue(late + 77), late + 88);
      await claim(hook, { now: late + 77, leaseUntil: late + 99 });
      assert.equal(await store.outbox.nextDue(late + 77), late + 88);
      assert.equal(await store.outbox.nextDue(late + 88), late + 99);
    });

    test('an attempt is kept with everything that is known of it', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(1);
      const [made] = await claim(hook);
      assert.ok(made);
      const attempt = {
        at: AT + 3,
        durationMs: 7,
        address: '192.0.2.7',
        status: 500,
        excerpt: 'we are sorry ☹',
        error: 'broken off',
      };
      const next = { state: 'pending', due: AT + 5, step: 1 } as const;
      await store.outbox.record(outcomeOf(made, { attempt, reason: 'it broke', next }));
      assert.deepEqual(await store.deliveries.attempts(hook, made.event.id), [attempt]);
      const shown = await store.deliveries.delivery(hook, made.event.id);
      assert.deepEqual(
        [shown?.state, shown?.attempts, shown?.reason, shown?.nextAttemptAt],
        ['pending', 1, 'it broke', AT + 5],
      );
    });

    test('an attempt that comes too late is kept, once, and changes nothing else', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(1);
      const [first] = await claim(hook);
      const [second] = await claim(hook, { now: AT + 1001, leaseUntil: AT + 2000 });
      assert.ok(first && second);
      const late = outcomeOf(first, { next: { state: 'failed' }, reason: 'late' });
      assert.equal(await store.outbox.record(late), 'late');
      assert.equal(await store.outbox.record(late), 'late');
      assert.equal(await store.outbox.record(outcomeOf(second)), 'settled');
      const shown = await store.deliveries.delivery(hook, first.event.id);
      assert.deepEqual([shown?.state, shown?.attempts, shown?.reason], ['delivered', 2, undefined]);
      assert.equal((await store.deliveries.attempts(hook, first.event.id)).length, 2);
    });

    test('of many attempts the newest are kept, and all are counted', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(1);
      const next = { state: 'pending', due: AT, step: 1 } as const;
      for (let n = 0; n < 103; n++) {
        const [made] = await claim(hook);
        assert.ok(made);
        const attempt = { ...outcomeOf(made).attempt, at: AT + n };
        await store.outbox.record(outcomeOf(made, { attempt, reason: 'no', next }));
      }
      const [shown] = await store.deliveries.deliveries(all(hook));
      assert.equal(shown?.attempts, 103);
      const kept = await store.deliveries.attempts(hook, shown.event.id);
      assert.deepEqual([kept.length, kept[0]?.at], [100, AT + 3]);
    });

    test('a paused webhook is not claimed from before the pause ends', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await ready().subscriber(2);
      const [made] = await claim(hook, { places: { each: 1, of: new Map() } });
      assert.ok(made);
      const next = { state: 'pending', due: AT + 10, step: 1 } as const;
      await store.outbox.record(outcomeOf(made, { reason: 'busy', next, pauseUntil: AT + 500 }));
      assert.equal((await store.webhooks.webhook(owner, hook))?.pausedUntil, AT + 500);
      assert.equal((await claim(hook, { now: AT + 499 })).length, 0);
      assert.equal((await claim(hook, { now: AT + 500 })).length, 2);
    });

    test('a pause gives way to a longer one only', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await ready().subscriber(2);
      const claims = await claim(hook);
      const next = { state: 'pending', due: AT + 10, step: 1 } as const;
      for (const [i, one] of claims.entries()) {
        const pauseUntil = AT + (i === 0 ? 900 : 100);
        await store.outbox.record(outcomeOf(one, { reason: 'busy', next, pauseUntil }));
      }
      assert.equal((await store.webhooks.webhook(owner, hook))?.pausedUntil, AT + 900);
    });

    test('a failure that disables its webhook holds what waits for it', async () => {
      const { store, claim, create } = ready();
      const { owner, hook } = await ready().subscriber(2);
      const [made] = await claim(hook, { places: { each: 1, of: new Map() } });
      assert.ok(made);
      const disable = { reason: 'it is gone', ifFailingSince: undefined };
      const next = { state: 'pending', due: AT, step: 0 } as const;
      await store.outbox.record(outcomeOf(made, { reason: 'gone', next, disable }));
      await create(owner);
      const webhook = await store.webhooks.webhook(owner, hook);
      assert.deepEqual([webhook?.status, webhook?.disabledReason], ['disabled', 'it is gone']);
      assert.deepEqual(
        (await store.deliveries.deliveries(all(hook))).map(({ state }) => state),
        ['held', 'held', 'held'],
      );
      assert.equal((await claim(hook, { now: AT + 1e6 })).length, 0);
    });

    test('a webhook that succeeded meanwhile is not disabled for its failures', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await ready().subscriber(3);
      const next = { state: 'pending', due: AT, step: 1 } as const;
      const [one, two, three] = await claim(hook);
      assert.ok(one && two && three);
      await store.outbox.record(outcomeOf(one, { reason: 'no', next }));
      const disable = { reason: 'it fails', ifFailingSince: AT };
      const attempt = { ...outcomeOf(three).attempt, at: AT + 9 };
      // In one batch.
      await Promise.all([
        store.outbox.record(outcomeOf(two)),
        store.outbox.record(outcomeOf(three, { attempt, reason: 'no', next, disable })),
      ]);
      assert.equal((await store.webhooks.webhook(owner, hook))?.status, 'enabled');
    });

    test('a failing webhook is disabled when it has failed since the time that was meant', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await ready().subscriber(2);
      const next = { state: 'pending', due: AT, step: 1 } as const;
      const [one, two] = await claim(hook);
      assert.ok(one && two);
      await store.outbox.record(outcomeOf(one, { reason: 'no', next }));
      const disable = { reason: 'it fails', ifFailingSince: AT };
      await store.outbox.record(outcomeOf(two, { reason: 'no', next, disable }));
      assert.equal((await store.webhooks.webhook(owner, hook))?.status, 'disabled');
    });

    test('of attempts that were under way together one pauses their webhook, and one disables it', async () => {
      const { store, claim } = ready();
      const { hook } = await ready().subscriber(6);
      const claims = await claim(hook);
      const next = { state: 'pending', due: AT, step: 1 } as const;
      const disable = { reason: 'it is gone', ifFailingSince: undefined };
      const at = (time: number, more: Partial<DeliveryOutcome>) => (made: Claim) =>
        outcomeOf(made, { attempt: { ...outcomeOf(made).attempt, at: time }, reason: 'no', next, ...more });
      const outcomes = [
        at(AT, { pauseUntil: AT + 50 }),
        at(AT + 1, { pauseUntil: AT + 60 }),
        at(AT + 60, { pauseUntil: AT + 90 }),
        at(AT + 61, { disable }),
        at(AT + 61, { disable }),
        at(AT + 62, {}),
      ];
      const recorded = await Promise.all(
        claims.map((made, n) => store.outbox.record(outcomes[n]?.(made) ?? outcomeOf(made))),
      );
      assert.deepEqual(recorded, ['paused', 'settled', 'paused', 'disabled', 'settled', 'settled']);
    });

    test('what the old URL answered neither pauses nor disables the new one', async () => {
      const { store, claim } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const [made] = await claim(hook);
      assert.ok(made);
      await store.webhooks.changeWebhook(owner, hook, { at: AT, url: 'https://example.org/new' });
      const next = { state: 'pending', due: AT, step: 1 } as const;
      const disable = { reason: 'it is gone', ifFailingSince: undefined };
      const outcome = outcomeOf(made, { reason: 'gone', next, disable, pauseUntil: AT + 99 });
      assert.equal(await store.outbox.record(outcome), 'settled');
      const webhook = await store.webhooks.webhook(owner, hook);
      assert.deepEqual([webhook?.status, webhook?.pausedUntil], ['enabled', undefined]);
    });
  });
}

function all(webhook: string) {
  return { webhook, state: undefined, before: undefined, limit: 100 };
}
