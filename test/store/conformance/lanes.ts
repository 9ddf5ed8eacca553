import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Work } from '../../../src/webhooks/delivery/port.ts';
import { AT, type Due, type Given, outcomeOf } from '../../../testkit/stores/given.ts';

/** What delivery reads from a store, and how it learns of work. */
export function lanesConformance(ready: () => Given): void {
  const read = (webhook: string, more = {}) =>
    ready()
      .lanes()
      .read({ webhook, now: AT, after: undefined, limit: 100, askedLimit: 100, ...more });
  const idsOf = (found: readonly { event: { id: string } }[]) => found.map(({ event }) => event.id);
  const plantsOf = (found: readonly Pick<Due, 'event'>[]) => found.map(({ event }) => event.plant.id);

  describe('a lane', () => {
    test('a new plant becomes one delivery for each webhook of its owner', async () => {
      const { user, webhook, create, due, ids } = ready();
      const [one, other] = [await user(), await user()];
      const hooks = [await webhook(one.id), await webhook(one.id)];
      const foreign = await webhook(other.id);
      const event = ids.next('evt');
      await create(one.id, 9007199254740993n, { event, name: 'Alder', tag: undefined });
      const plant = { id: 9007199254740993n, name: 'Alder', tag: undefined };
      for (const hook of hooks) {
        const [made, ...more] = await due(hook);
        assert.deepEqual(made?.event, { id: event, type: 'plant.created', at: AT, plant });
        assert.equal(made.webhook.owner, one.id);
        const { due: since, step, generation, isAsked, suspicions } = made;
        assert.deepEqual([since, step, generation, isAsked, suspicions], [AT, 0, 0, false, 0]);
        assert.deepEqual(more, []);
      }
      assert.deepEqual(await due(foreign), []);
    });

    test('plants and a webhook in one batch are subscribed in the order of the calls', async () => {
      const { user, webhook, create, due } = ready();
      const { id: owner } = await user();
      const [, hook] = await Promise.all([create(owner), webhook(owner), create(owner)]);
      assert.deepEqual(plantsOf(await due(hook)), [2n]);
    });

    test('reading changes nothing', async () => {
      const { due } = ready();
      const { hook } = await ready().subscriber(3);
      const first = await due(hook);
      assert.equal(first.length, 3);
      assert.deepEqual(await due(hook), first);
    });

    test('it is read in windows, by due time and then by event', async () => {
      const { user, webhook, create } = ready();
      const { id: owner } = await user();
      const hook = await webhook(owner);
      for (const late of [3, 1, 2, 1, 1]) await create(owner, undefined, { at: AT + late });
      const seen: unknown[] = [];
      let after: { due: number; event: string } | undefined;
      for (;;) {
        const { due } = await read(hook, { now: AT + 3, after, limit: 2 });
        seen.push(...plantsOf(due));
        const last = due.at(-1);
        if (!last || due.length < 2) break;
        after = { due: last.due, event: last.event.id };
      }
      assert.deepEqual(seen, [2n, 4n, 5n, 3n, 1n]);
    });

    test('deliveries not yet due are not read, but the next due time is', async () => {
      const { create } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await create(owner, undefined, { at: AT + 88 });
      await create(owner, undefined, { at: AT + 77 });
      const times = async (now: number) => {
        const { due, nextDue } = await read(hook, { now });
        return [due.length, nextDue];
      };
      assert.deepEqual(await times(AT), [1, AT + 77]);
      assert.deepEqual(await times(AT + 77), [2, AT + 88]);
      assert.deepEqual(await times(AT + 88), [3, undefined]);
    });

    test('requested deliveries are read wherever the window starts, and separately from the rest', async () => {
      const { store, ids } = ready();
      const { owner, hook } = await ready().subscriber(3);
      const [, second, third] = (await read(hook)).due;
      assert.ok(second && third);
      await store.deliveries.redeliver({ owner, webhook: hook, event: second.event.id, at: AT });
      const event = { id: ids.next('evt'), type: 'plant.test', at: AT, plant: second.event.plant } as const;
      await store.deliveries.createTest({ owner, webhook: hook, event, due: AT });
      const after = { due: third.due, event: third.event.id };
      for (const limit of [0, 1]) {
        const { asked } = await read(hook, { after, limit });
        assert.deepEqual(idsOf(asked), [second.event.id, event.id]);
        assert.ok(asked.every(({ isAsked }) => isAsked));
      }
      assert.deepEqual(idsOf((await read(hook, { limit: 0 })).due), []);
      assert.deepEqual(idsOf((await read(hook, { askedLimit: 1 })).asked), [second.event.id]);
      assert.deepEqual(idsOf((await read(hook)).due).length, 4);
    });

    test('a requested delivery is read even if a replay made it due after the read started', async () => {
      const { store, subscriber } = ready();
      const { owner, hook } = await subscriber(1);
      const [first] = (await read(hook)).due;
      assert.ok(first);
      await store.deliveries.redeliver({ owner, webhook: hook, event: first.event.id, at: AT + 1 });
      const { asked, due } = await read(hook);
      assert.deepEqual([idsOf(asked), idsOf(due)], [[first.event.id], []]);
    });

    test('a requested delivery is like the rest once its attempt is recorded', async () => {
      const { store, due, record } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const [first] = await due(hook);
      assert.ok(first);
      await store.deliveries.redeliver({ owner, webhook: hook, event: first.event.id, at: AT });
      const [asked] = await due(hook);
      assert.ok(asked?.isAsked);
      const next = { state: 'pending', due: AT, step: 1 } as const;
      await record(outcomeOf(asked, { reason: 'no', next }));
      assert.equal((await due(hook))[0]?.isAsked, false);
    });

    test('nothing is read for a disabled, deleted or unknown webhook', async () => {
      const { store } = ready();
      const [off, gone] = [await ready().subscriber(2), await ready().subscriber(2)];
      await store.webhooks.changeWebhook(off.owner, off.hook, { at: AT, enabled: false });
      await store.webhooks.deleteWebhook(gone.owner, gone.hook);
      for (const hook of [off.hook, gone.hook, 'wh_0']) {
        const { settings, asked, due } = await read(hook);
        assert.deepEqual([settings, asked, due], [undefined, [], []]);
      }
    });

    test('lanes with something pending are found in parts, in the order of their webhooks', async () => {
      const { store, webhook } = ready();
      const busy = [await ready().subscriber(2), await ready().subscriber(1), await ready().subscriber(1)];
      const [off, quiet] = [await ready().subscriber(1), await ready().subscriber(1)];
      await store.webhooks.changeWebhook(off.owner, off.hook, { at: AT, enabled: false });
      await ready().attemptAll(quiet.hook);
      const idle = await webhook(quiet.owner);
      const mine = new Set([...busy, off, quiet].map(({ hook }) => hook).concat(idle));
      const found: Work[] = [];
      for (let after: string | undefined; ; ) {
        const part = await ready().lanes().findWork(after, 2);
        assert.ok(part.length <= 2);
        found.push(...part);
        after = part.at(-1)?.webhook;
        if (part.length < 2) break;
      }
      const ids = found.map((work) => work.webhook);
      assert.deepEqual(ids, ids.toSorted());
      assert.deepEqual(
        found.filter((work) => mine.has(work.webhook)).map(({ webhook: id, due }) => [id, due]),
        busy.map(({ hook }) => [hook, AT]).toSorted(),
      );
    });
  });

  describe('hints', () => {
    /** Waits until a hint says that a webhook has work due at this time. */
    async function told(hook: string, due: number, act: () => Promise<unknown>): Promise<Work> {
      const { promise, resolve } = Promise.withResolvers<Work>();
      ready()
        .lanes()
        .listen(({ work }) => {
          const found = work.find((one) => one.webhook === hook && one.due === due);
          if (found) resolve(found);
        });
      await act();
      return promise;
    }

    test('a hint about new work says when it is due, and whether a user requested it', async () => {
      const { store, create, ids, attemptAll, finishChores } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const made = await told(hook, AT + 5, () => create(owner, undefined, { at: AT + 5 }));
      assert.ok(!made.isAsked);
      const [sent] = await attemptAll(hook);
      assert.ok(sent);
      const { id, plant } = sent.event;
      const again = () => store.deliveries.redeliver({ owner, webhook: hook, event: id, at: AT + 6 });
      assert.ok((await told(hook, AT + 6, again)).isAsked);
      const event = { id: ids.next('evt'), type: 'plant.test', at: AT, plant } as const;
      const test = () => store.deliveries.createTest({ owner, webhook: hook, event, due: AT + 7 });
      assert.ok((await told(hook, AT + 7, test)).isAsked);
      const replay = { owner, webhook: hook, from: 'evt_', state: undefined };
      await store.deliveries.startReplay(replay, 10);
      await told(hook, AT + 8, () => finishChores(AT + 8));
      await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: false });
      await told(hook, AT + 9, () =>
        store.webhooks.changeWebhook(owner, hook, { at: AT + 9, enabled: true }),
      );
      await finishChores();
    });

    test("a change of a webhook's target or status sends a hint", async () => {
      const { store } = ready();
      const { owner, hook } = await ready().subscriber(0);
      const { webhooks, access } = store;
      const ann = await ready().user();
      const viewer = (await access.users()).find(({ id }) => id === owner);
      assert.ok(viewer);
      await access.addShare({ owner: ann.name, viewer: viewer.name, at: AT }, 10);
      const rotation = { secret: 'whsec_y', at: AT, overlapUntil: AT, most: 3 };
      const changes = {
        url: () => webhooks.changeWebhook(owner, hook, { at: AT, url: 'https://example.org/' }),
        rate: () => webhooks.changeWebhook(owner, hook, { at: AT, rate: 5 }),
        disabled: () => webhooks.changeWebhook(owner, hook, { at: AT, enabled: false }),
        enabled: () => webhooks.changeWebhook(owner, hook, { at: AT, enabled: true }),
        secret: () => webhooks.rotateSecret(owner, hook, rotation),
        share: () => access.removeShare({ owner: ann.name, viewer: viewer.name }),
        deleted: () => webhooks.deleteWebhook(owner, hook),
      };
      for (const change of Object.values(changes)) {
        const { promise, resolve } = Promise.withResolvers<void>();
        ready()
          .lanes()
          .listen(({ changed }) => changed.includes(hook) && resolve());
        await change();
        await promise;
      }
    });
  });
}
