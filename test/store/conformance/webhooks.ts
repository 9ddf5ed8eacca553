import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AT, type Given, outcomeOf, URL } from '../../../testkit/stores/given.ts';

/** What owners do with their webhooks. */
export function webhooksConformance(ready: () => Given): void {
  const retry = { state: 'pending', due: AT + 1e9, step: 1 } as const;

  describe('webhooks', () => {
    test('a webhook is listed for its owner, and deleted by nobody else', async () => {
      const { store, user, webhook } = ready();
      const [one, other] = [await user(), await user()];
      const hook = await webhook(one.id);
      assert.deepEqual(
        (await store.webhooks.webhooks(one.id)).map(({ id, status }) => [id, status]),
        [[hook, 'enabled']],
      );
      assert.deepEqual(await store.webhooks.webhooks(other.id), []);
      assert.equal(await store.webhooks.webhook(other.id, hook), undefined);
      assert.equal(await store.webhooks.deleteWebhook(other.id, hook), false);
      assert.equal(await store.webhooks.deleteWebhook(one.id, hook), true);
      assert.equal(await store.webhooks.deleteWebhook(one.id, hook), false);
      assert.deepEqual(await store.webhooks.webhooks(one.id), []);
      assert.equal(await store.webhooks.webhook(one.id, hook), undefined);
    });

    test('everything about a new webhook can be read back', async () => {
      const { store, user, webhook } = ready();
      const { id: owner } = await user();
      const id = await webhook(owner, { description: 'Greenhouse', rate: 7 });
      assert.deepEqual(await store.webhooks.webhook(owner, id), {
        id,
        owner,
        url: URL,
        description: 'Greenhouse',
        rate: 7,
        status: 'enabled',
        disabledReason: undefined,
        pausedUntil: undefined,
        publicKey: 'whpk_x',
        createdAt: AT,
        lastSuccessAt: undefined,
        lastFailureAt: undefined,
      });
    });

    test('the number of webhooks is limited, and deleting one makes room', async () => {
      const { store, ids, user, webhook } = ready();
      const { id: owner } = await user();
      const first = await webhook(owner);
      const another = (most: number) =>
        store.webhooks.createWebhook(
          {
            id: ids.next('wh'),
            owner,
            url: URL,
            description: undefined,
            rate: undefined,
            publicKey: 'whpk_x',
            privateKey: 'whsk_x',
            secrets: [],
            createdAt: AT,
          },
          most,
        );
      assert.equal(await another(1), false);
      assert.equal((await store.webhooks.webhooks(owner)).length, 1);
      await store.webhooks.deleteWebhook(owner, first);
      assert.equal(await another(1), true);
    });

    test('a change affects only the named members', async () => {
      const { store, user, webhook } = ready();
      const { id: owner } = await user();
      const id = await webhook(owner, { description: 'Greenhouse', rate: 7 });
      const before = await store.webhooks.webhook(owner, id);
      assert.deepEqual(await store.webhooks.changeWebhook(owner, id, { at: AT }), before);
      const url = 'https://example.org/other';
      const changed = await store.webhooks.changeWebhook(owner, id, { at: AT, url, description: null });
      assert.deepEqual(changed, { ...before, url, description: undefined });
      await store.webhooks.changeWebhook(owner, id, { at: AT, rate: null, description: 'Shed' });
      assert.deepEqual(await store.webhooks.webhook(owner, id), {
        ...before,
        url,
        description: 'Shed',
        rate: undefined,
      });
    });

    test("another user's webhook cannot be changed", async () => {
      const { store, user, webhook } = ready();
      const [one, other] = [await user(), await user()];
      const hook = await webhook(one.id);
      const change = { at: AT, description: 'mine' };
      assert.equal(await store.webhooks.changeWebhook(other.id, hook, change), undefined);
      assert.equal((await store.webhooks.webhook(one.id, hook))?.description, undefined);
    });

    test('a disabled webhook holds old and new deliveries, and sends them all when it is enabled', async () => {
      const { store, create, due, finishChores } = ready();
      const { owner, hook } = await ready().subscriber(2);
      const [made] = await due(hook);
      assert.ok(made);
      await ready().record(outcomeOf(made, { reason: 'no', next: retry }));
      const disabled = await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: false });
      assert.deepEqual([disabled?.status, disabled?.disabledReason], ['disabled', undefined]);
      await create(owner);
      assert.equal((await due(hook, { now: AT + 2e9 })).length, 0);
      await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: true });
      await finishChores();
      const found = await due(hook);
      assert.deepEqual(
        found.map(({ step }) => step),
        [-1, -1, -1],
      );
    });

    test('enabling ends a pause and forgets why the webhook was disabled', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const [made] = await due(hook);
      assert.ok(made);
      const laneState = { pausedUntil: AT + 1e9, disabledReason: 'it is gone' };
      const outcome = outcomeOf(made, { reason: 'no', next: retry, laneState });
      await ready().record(outcome);
      const enabled = await store.webhooks.changeWebhook(owner, hook, { at: AT, enabled: true });
      assert.deepEqual(
        [enabled?.status, enabled?.disabledReason, enabled?.pausedUntil],
        ['enabled', undefined, undefined],
      );
    });

    test('a deleted webhook is sent nothing more, and its rows are removed in slices', async () => {
      const { store, due, create, finishChores } = ready();
      const { owner, hook } = await ready().subscriber(7);
      const [made] = await due(hook);
      assert.ok(made);
      await store.webhooks.deleteWebhook(owner, hook);
      await create(owner);
      assert.equal((await due(hook, { now: AT + 1e9 })).length, 0);
      await finishChores();
      assert.equal(await ready().record(outcomeOf(made)), 'gone');
      assert.equal((await store.deliveries.health(hook)).waiting, 0);
    });

    test('the health of a webhook counts waiting and failed deliveries', async () => {
      const { store, due, create } = ready();
      const { owner, hook } = await ready().subscriber(2);
      const [one, two] = await due(hook);
      assert.ok(one && two);
      const at = outcomeOf(one).attempt;
      const failure = { attempt: { ...at, at: AT + 1 }, reason: 'no', next: { state: 'failed' } as const };
      await ready().record(outcomeOf(one, failure));
      await ready().record(outcomeOf(two, { attempt: { ...at, at: AT + 2 } }));
      await create(owner, undefined, { at: AT + 5 });
      await create(owner, undefined, { at: AT + 6 });
      assert.deepEqual(await store.deliveries.health(hook), {
        waiting: 2,
        failed: 1,
        oldestWaitingAt: AT + 5,
      });
      const webhook = await store.webhooks.webhook(owner, hook);
      assert.deepEqual([webhook?.lastFailureAt, webhook?.lastSuccessAt], [AT + 1, AT + 2]);
    });

    test('the failures of a webhook are counted from the first one after a success', async () => {
      const { due } = ready();
      const { hook } = await ready().subscriber(1);
      const seen: (number | undefined)[] = [];
      for (const [n, ok] of [true, false, false, true, false, false].entries()) {
        const now = AT + n * 10;
        const [made] = await due(hook, { now });
        assert.ok(made);
        seen.push(made.webhook.failingSince);
        const attempt = { ...outcomeOf(made).attempt, at: now };
        const next = { state: 'pending', due: now + 10, step: 1 } as const;
        await ready().record(outcomeOf(made, { attempt, next, reason: ok ? undefined : 'no' }));
      }
      assert.deepEqual(seen, [undefined, undefined, AT + 10, AT + 10, undefined, AT + 40]);
    });
  });

  describe('secrets', () => {
    const rotation = (secret: string, at: number, overlapUntil: number) => ({
      secret,
      at,
      overlapUntil,
      most: 3,
    });

    test('after a rotation both secrets sign, newest first, until the overlap ends', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      const outcome = await store.webhooks.rotateSecret(owner, hook, rotation('whsec_y', AT + 1, AT + 100));
      assert.equal(outcome, 'rotated');
      const [made] = await due(hook, { now: AT + 99 });
      assert.deepEqual(made?.webhook.secrets, ['whsec_y', 'whsec_x']);
      const [later] = await due(hook, { now: AT + 100 });
      assert.deepEqual(later?.webhook.secrets, ['whsec_y']);
    });

    test('without an overlap the old secret ends at once', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await store.webhooks.rotateSecret(owner, hook, rotation('whsec_y', AT, AT));
      assert.deepEqual((await due(hook))[0]?.webhook.secrets, ['whsec_y']);
    });

    test('a later rotation does not extend the life of an old secret', async () => {
      const { store, due } = ready();
      const { owner, hook } = await ready().subscriber(1);
      await store.webhooks.rotateSecret(owner, hook, rotation('whsec_y', AT, AT + 10));
      await store.webhooks.rotateSecret(owner, hook, rotation('whsec_z', AT + 1, AT + 1000));
      const [made] = await due(hook, { now: AT + 10 });
      assert.deepEqual(made?.webhook.secrets, ['whsec_z', 'whsec_y']);
    });

    test('the number of live secrets is limited', async () => {
      const { store } = ready();
      const { owner, hook } = await ready().subscriber(0);
      const rotate = (secret: string, at: number, until: number) =>
        store.webhooks.rotateSecret(owner, hook, rotation(secret, at, until));
      assert.equal(await rotate('whsec_a', AT + 1, AT + 50), 'rotated');
      assert.equal(await rotate('whsec_b', AT + 2, AT + 90), 'rotated');
      assert.deepEqual(await rotate('whsec_c', AT + 3, AT + 90), { full: true, until: AT + 50 });
      assert.equal(await rotate('whsec_c', AT + 50, AT + 90), 'rotated');
      assert.equal(await rotate('whsec_d', AT + 51, AT + 51), 'rotated');
    });

    test('nobody rotates the secret of another user', async () => {
      const { store, user } = ready();
      const { hook } = await ready().subscriber(0);
      const other = await user();
      const outcome = await store.webhooks.rotateSecret(other.id, hook, rotation('whsec_y', AT, AT));
      assert.equal(outcome, 'no webhook');
    });
  });
}
