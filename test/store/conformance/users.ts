import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AT, type Given } from '../../../testkit/stores/given.ts';

export function usersConformance(ready: () => Given): void {
  const token = async (user: string, expiresAt?: number) => {
    const id = ready().ids.next('tok');
    const made = { id, hash: `hash ${id}`, user, label: 'x', scopes: [], createdAt: AT, expiresAt };
    assert.equal(await ready().store.access.createToken(made), 'created');
    return made;
  };

  describe('creating and deleting users', () => {
    test('an existing user is found instead of created', async () => {
      const { store, user } = ready();
      const { id, name } = await user();
      assert.equal(await store.access.createUser({ name, at: AT + 1 }), undefined);
      assert.equal((await store.access.user(name))?.id, id);
      const fresh = await store.access.createUser({ name: `${name}'s friend`, at: AT });
      assert.notEqual(fresh?.id, id);
      assert.equal(fresh?.createdAt, AT);
    });

    test('a disabled user is marked as such, until enabled', async () => {
      const { store, user } = ready();
      const { name } = await user();
      const { hash } = await token(name);
      const isDisabled = async () => (await store.access.findToken(hash))?.user.isDisabled;
      const epoch = store.access.accessEpoch();
      assert.equal(await store.access.setUserDisabled(name, true, AT + 1), 'changed');
      assert.equal(await store.access.setUserDisabled(name, true, AT + 2), 'as before');
      assert.notEqual(store.access.accessEpoch(), epoch);
      assert.equal(await isDisabled(), true);
      const listed = (await store.access.users()).find((one) => one.name === name);
      assert.equal(listed?.disabledAt, AT + 1);
      await store.access.setUserDisabled(name, false, AT + 3);
      assert.equal(await isDisabled(), false);
      assert.equal(await store.access.setUserDisabled('nobody at all', true, AT), 'no user');
    });

    test("a disabled user's webhooks wait, and those disabled earlier stay so", async () => {
      const { store, user, webhook, create, due, finishChores } = ready();
      const { id, name } = await user();
      const [hook, off] = [await webhook(id), await webhook(id)];
      await store.webhooks.changeWebhook(id, off, { at: AT, enabled: false });
      await store.access.setUserDisabled(name, true, AT);
      await create(id);
      assert.deepEqual(await due(hook), []);
      assert.equal((await store.webhooks.webhook(id, hook))?.disabledReason, 'Its user is disabled.');
      await store.access.setUserDisabled(name, false, AT);
      await finishChores();
      assert.equal((await due(hook)).length, 1);
      const statuses = (await store.webhooks.webhooks(id)).map(({ status }) => status);
      assert.deepEqual(statuses, ['enabled', 'disabled']);
    });

    test("a user's belongings are counted", async () => {
      const { store, user, webhook, create } = ready();
      const [ann, bob] = [await user(), await user()];
      await create(ann.id);
      await create(ann.id);
      await webhook(ann.id);
      await token(ann.name);
      await store.access.addShare({ owner: bob.name, viewer: ann.name, at: AT }, 10);
      assert.deepEqual(await store.access.belongings(ann.name), {
        plants: 2,
        webhooks: 1,
        tokens: 1,
        shares: 1,
      });
      assert.equal(await store.access.belongings('nobody at all'), undefined);
    });

    test('a deleted user is gone at once, and nothing is left when the chores are done', async () => {
      const { store, user, webhook, create, due, finishChores } = ready();
      const [ann, bob] = [await user(), await user()];
      const { hash } = await token(ann.name);
      for (let n = 0; n < 7; n++) await create(ann.id);
      const [own, viewers] = [await webhook(ann.id), await webhook(bob.id)];
      await store.access.addShare({ owner: ann.name, viewer: bob.name, at: AT }, 10);
      await create(ann.id);

      assert.equal(await store.access.deleteUser(ann.name, AT), true);
      assert.equal(await store.access.deleteUser(ann.name, AT), false);
      assert.equal(await store.access.findToken(hash), undefined);
      assert.equal(
        (await store.access.users()).some(({ name }) => name === ann.name),
        false,
      );
      assert.deepEqual(await ready().walk(bob.id, 10), []);
      assert.deepEqual([await due(own), await due(viewers)], [[], []]);
      // The name is free while rows are still being removed, and its next user gets none of them.
      const again = await store.access.createUser({ name: ann.name, at: AT });
      assert.ok(again);
      assert.notEqual(again.id, ann.id);
      await create(again.id, 1n);
      // Once more, while rows of both remain.
      await store.access.deleteUser(ann.name, AT);
      const third = await store.access.createUser({ name: ann.name, at: AT });
      assert.ok(third);
      await create(third.id, 2n);

      await finishChores();
      assert.deepEqual(await ready().walk(third.id, 10), [2n]);
      assert.equal((await store.deliveries.health(viewers)).waiting, 0);
    });

    test('nothing is written for a user who was disabled or deleted during the request', async () => {
      const { store, user, plant, webhook, finishChores } = ready();
      const [ann, bob] = [await user(), await user()];
      const hook = await webhook(bob.id);
      const callerOf = ({ id }: { id: number }) => ({ user: id, hasLeft: () => false, once: undefined });
      await store.access.setUserDisabled(bob.name, true, AT);
      const enabling = { at: AT, enabled: true };
      const refused = { code: 40101 };
      await assert.rejects(store.webhooks.changeWebhook(bob.id, hook, enabling, callerOf(bob)), refused);
      await assert.rejects(store.webhooks.deleteWebhook(bob.id, hook, callerOf(bob)), refused);
      assert.equal((await store.webhooks.webhook(bob.id, hook))?.status, 'disabled');

      // Also in one transaction with the deletion.
      const outcomes = await Promise.allSettled([
        store.plants.create(plant(ann.id), callerOf(ann)),
        store.access.deleteUser(ann.name, AT),
        store.plants.create(plant(ann.id), callerOf(ann)),
        store.plants.delete(ann.id, 1n, callerOf(ann)),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
      );
      await finishChores();
      await assert.rejects(store.plants.create(plant(ann.id), callerOf(ann)), refused);
      const once = {
        ...{ user: ann.id, method: 'POST', path: '/plants', key: 'k', fingerprint: 'f', at: AT },
        ...{ expiresAt: AT + 1, answer: { status: 400, location: undefined, body: '{}' } },
      };
      await assert.rejects(store.keys.keepAnswer(once), refused);
    });

    test("a deleted newest user's id is not reused", async () => {
      const { store, user, finishChores } = ready();
      const last = await user();
      await store.access.deleteUser(last.name, AT);
      await finishChores();
      assert.ok((await user()).id > last.id);
    });
  });

  describe('rotation of tokens', () => {
    const rotate = (id: string, overlapUntil: number, at = AT) => {
      const fresh = ready().ids.next('tok');
      const replacement = { id: fresh, hash: `hash ${fresh}`, createdAt: at, expiresAt: undefined };
      return ready()
        .store.access.rotateToken({ id, replacement, overlapUntil })
        .then((outcome) => ({ outcome, replacement }));
    };

    test('a token is replaced by one like it, and ends with the overlap', async () => {
      const { store, user } = ready();
      const old = await token((await user()).name);
      const { outcome, replacement } = await rotate(old.id, AT + 10);
      assert.equal(outcome, 'rotated');
      const [before, after] = [
        await store.access.findToken(old.hash),
        await store.access.findToken(replacement.hash),
      ];
      assert.equal(before?.expiresAt, AT + 10);
      assert.deepEqual(
        [after?.user, after?.label, after?.scopes, after?.expiresAt],
        [before?.user, 'x', [], undefined],
      );
    });

    test('a token that expires before the overlap ends still expires', async () => {
      const { store, user } = ready();
      const old = await token((await user()).name, AT + 5);
      await rotate(old.id, AT + 10);
      assert.equal((await store.access.findToken(old.hash))?.expiresAt, AT + 5);
    });

    test('a token is replaced only once', async () => {
      const { store, user } = ready();
      const old = await token((await user()).name);
      const { replacement } = await rotate(old.id, AT + 10);
      const again = await rotate(old.id, AT + 10);
      assert.deepEqual(again.outcome, { replacedBy: replacement.id });
      assert.equal(await store.access.findToken(again.replacement.hash), undefined);
      assert.equal((await rotate(replacement.id, AT + 10)).outcome, 'rotated');
    });

    test('the bootstrap token is not replaced', async () => {
      const { store, ids } = ready();
      const id = ids.next('tok');
      const made = { id, hash: `hash ${id}`, label: '', scopes: [], createdAt: AT, expiresAt: undefined };
      await store.access.setBootstrapToken({ ...made, user: `operator ${id}` });
      assert.equal((await rotate(id, AT + 10)).outcome, 'bootstrap');
    });

    test('a token that is not live, or does not exist, is not replaced', async () => {
      const { store, user } = ready();
      const { name } = await user();
      const [expired, revoked] = [await token(name, AT), await token(name)];
      await store.access.revokeToken(revoked.id, AT);
      assert.equal((await rotate(expired.id, AT + 10)).outcome, 'not live');
      assert.equal((await rotate(revoked.id, AT + 10)).outcome, 'not live');
      const missing = await rotate('tok_none', AT + 10);
      assert.equal(missing.outcome, 'no token');
      assert.equal(await store.access.findToken(missing.replacement.hash), undefined);
    });
  });
}
