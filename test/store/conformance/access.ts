import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NewToken } from '../../../src/access/port.ts';
import { AT, type Given } from '../../../testkit/stores/given.ts';

export function accessConformance(ready: () => Given): void {
  function token({ ids }: Given, user: string, more: Partial<NewToken> = {}): NewToken {
    const id = ids.next('tok');
    return {
      id,
      hash: `hash of ${id}`,
      user,
      label: '',
      scopes: ['plants:read', 'webhooks:write'],
      createdAt: AT,
      expiresAt: undefined,
      ...more,
    };
  }

  describe('users and tokens', () => {
    test('a user name is unique', async () => {
      const { store, user } = ready();
      const { name } = await user();
      assert.equal(await store.access.createUser({ name, at: AT }), undefined);
      assert.equal((await store.access.users()).filter((one) => one.name === name).length, 1);
    });

    test('a token is found by its hash with everything stored about it', async () => {
      const { store, user } = ready();
      const { id, name } = await user();
      const made = token(ready(), name, { label: 'laptop', expiresAt: AT + 5 });
      assert.equal(await store.access.createToken(made), true);
      assert.deepEqual(await store.access.findToken(made.hash), {
        id: made.id,
        user: { id, name, isDisabled: false },
        label: 'laptop',
        scopes: made.scopes,
        createdAt: AT,
        expiresAt: AT + 5,
        revokedAt: undefined,
        replacedBy: undefined,
        isBootstrap: false,
      });
      assert.equal(await store.access.findToken('another hash'), undefined);
    });

    test('a token of an unknown user is not created', async () => {
      const made = token(ready(), 'nobody');
      assert.equal(await ready().store.access.createToken(made), false);
      assert.equal(await ready().store.access.findToken(made.hash), undefined);
    });

    test('revoking a token keeps the first time and changes the epoch', async () => {
      const { store, user } = ready();
      const made = token(ready(), (await user()).name);
      await store.access.createToken(made);
      const epoch = store.access.accessEpoch();
      assert.equal(await store.access.revokeToken(made.id, AT + 1), true);
      assert.notEqual(store.access.accessEpoch(), epoch);
      assert.equal(await store.access.revokeToken(made.id, AT + 2), true);
      assert.equal((await store.access.findToken(made.hash))?.revokedAt, AT + 1);
      assert.equal(await store.access.revokeToken('tok_unknown', AT), false);
    });

    test('adding a plant does not change the epoch', async () => {
      const { store, user, create } = ready();
      const { id } = await user();
      const epoch = store.access.accessEpoch();
      await create(id);
      assert.equal(store.access.accessEpoch(), epoch);
    });

    test('a bootstrap token is set once, replaced by another, and creates its user', async () => {
      const { store, ids } = ready();
      const name = `operator ${ids.next('tok')}`;
      const [first, second] = [token(ready(), name), token(ready(), name)];
      await store.access.setBootstrapToken(first);
      const epoch = store.access.accessEpoch();
      await store.access.setBootstrapToken({ ...first, id: ids.next('tok') });
      assert.equal(store.access.accessEpoch(), epoch);
      assert.equal((await store.access.findToken(first.hash))?.id, first.id);
      await store.access.setBootstrapToken(second);
      assert.equal(await store.access.findToken(first.hash), undefined);
      assert.equal((await store.access.findToken(second.hash))?.user.name, name);
    });

    test('a revoked bootstrap token is set again at the next start', async () => {
      const { store, ids } = ready();
      const made = token(ready(), `operator ${ids.next('tok')}`);
      await store.access.setBootstrapToken(made);
      await store.access.revokeToken(made.id, AT);
      await store.access.setBootstrapToken(made);
      assert.equal((await store.access.findToken(made.hash))?.revokedAt, undefined);
    });
  });
}
