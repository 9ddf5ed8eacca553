import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Asking, NewToken } from '../../../src/access/port.ts';
import { type Scope, scopes } from '../../../src/access/scopes.ts';
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
      assert.equal(await store.access.createToken(made), 'created');
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
        lastUsedOn: undefined,
      });
      assert.equal(await store.access.findToken('another hash'), undefined);
    });

    test('a token of an unknown user is not created', async () => {
      const made = token(ready(), 'nobody');
      assert.equal(await ready().store.access.createToken(made), 'no user');
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

    test('a bootstrap token gets the scopes that were added since', async () => {
      const { store, ids } = ready();
      const before: Scope[] = ['plants:read'];
      const made = token(ready(), `operator ${ids.next('tok')}`, { scopes: before });
      await store.access.setBootstrapToken(made);
      const epoch = store.access.accessEpoch();
      await store.access.setBootstrapToken({ ...made, id: ids.next('tok'), scopes });
      assert.deepEqual((await store.access.findToken(made.hash))?.scopes, scopes);
      assert.notEqual(store.access.accessEpoch(), epoch);
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

  describe('own tokens', () => {
    async function owner(more: Partial<Asking> = {}) {
      const { store, user } = ready();
      const { id, name } = await user();
      const asking: Asking = { user: id, token: undefined, most: 3, ...more };
      const make = async (of: Partial<NewToken> = {}, by = asking) => {
        const made = token(ready(), name, of);
        return { ...made, outcome: await store.access.createToken(made, by) };
      };
      const rotate = (rotated: string, overlapUntil: number, by = asking) => {
        const { id, hash, createdAt, expiresAt } = token(ready(), name);
        const replacement = { id, hash, createdAt, expiresAt };
        return store.access.rotateToken({ id: rotated, replacement, overlapUntil }, by);
      };
      const listed = async () => (await store.access.tokens(id)).map((one) => one.id);
      return { id, name, asking, make, rotate, listed, access: store.access };
    }

    test("a user's tokens are listed without those of others", async () => {
      const [ann, bob] = [await owner(), await owner()];
      const [first, second] = [await ann.make(), await ann.make()];
      await bob.make();
      assert.deepEqual(await ann.listed(), [first.id, second.id]);
    });

    test('a user gets as many live tokens as allowed, and another when one has ended', async () => {
      const { make, access } = await owner({ most: 2 });
      const { id } = await make();
      assert.equal((await make({ expiresAt: AT + 1 })).outcome, 'created');
      assert.equal((await make()).outcome, 'full');
      await access.revokeToken(id, AT);
      assert.equal((await make()).outcome, 'created');
      assert.equal((await make()).outcome, 'full');
      assert.equal((await make({ createdAt: AT + 1 })).outcome, 'created');
    });

    test('tokens that are created at the same time are not more than allowed', async () => {
      const { make } = await owner({ most: 3 });
      const outcomes = await Promise.all(Array.from({ length: 8 }, async () => (await make()).outcome));
      assert.equal(outcomes.filter((outcome) => outcome === 'created').length, 3);
      assert.equal(outcomes.filter((outcome) => outcome === 'full').length, 5);
    });

    test('a rotation at the limit needs an overlap of none', async () => {
      const { make, rotate } = await owner({ most: 1 });
      const { id } = await make();
      assert.equal(await rotate(id, AT + 1), 'full');
      assert.equal(await rotate(id, AT), 'rotated');
    });

    test('of the tokens that ended only the newest are kept', async () => {
      const { make, listed, access } = await owner({ most: 2 });
      const ended: string[] = [];
      for (let n = 0; n < 4; n++) {
        const { id } = await make({ createdAt: AT + n });
        await access.revokeToken(id, AT + n);
        ended.push(id);
      }
      const { id } = await make({ createdAt: AT + 4 });
      assert.deepEqual(await listed(), [...ended.slice(-2), id]);
    });

    test('a token that ended gives no other', async () => {
      const { id: user, make, rotate, asking, access } = await owner();
      const [asker, other] = [await make(), await make()];
      const by = { ...asking, token: asker.id };
      assert.equal((await make({}, by)).outcome, 'created');
      await access.revokeToken(asker.id, AT, user);
      assert.equal((await make({}, by)).outcome, 'caller ended');
      assert.equal(await rotate(other.id, AT + 1, by), 'caller ended');
      assert.equal((await make({}, { ...by, token: 'tok_unknown' })).outcome, 'caller ended');
      const brief = await make({ expiresAt: AT + 1 });
      assert.equal((await make({ createdAt: AT + 1 }, { ...by, token: brief.id })).outcome, 'caller ended');
    });

    test('a token that is rotated by itself twice at the same time has one replacement', async () => {
      const { make, rotate, asking, listed } = await owner();
      const { id } = await make();
      const by = { ...asking, token: id };
      const outcomes = await Promise.all([rotate(id, AT + 1, by), rotate(id, AT + 1, by)]);
      const [, replacedBy] = await listed();
      assert.deepEqual(
        outcomes.sort((a) => (a === 'rotated' ? -1 : 1)),
        ['rotated', { replacedBy }],
      );
    });

    test('two tokens that rotate each other at the same time both have a replacement', async () => {
      const { make, rotate, asking } = await owner({ most: 10 });
      const [one, two] = [await make(), await make()];
      const outcomes = await Promise.all([
        rotate(one.id, AT + 1, { ...asking, token: two.id }),
        rotate(two.id, AT + 1, { ...asking, token: one.id }),
      ]);
      assert.deepEqual(outcomes, ['rotated', 'rotated']);
    });

    test('a token that is revoked while it rotates itself leaves a replacement or none, never an error', async () => {
      for (let n = 0; n < 10; n++) {
        const { id: user, make, rotate, asking, listed, access } = await owner();
        const { id, hash } = await make();
        const [rotated, revoked] = await Promise.all([
          rotate(id, AT + 1, { ...asking, token: id }),
          access.revokeToken(id, AT, user),
        ]);
        assert.equal(revoked, true);
        assert.ok(rotated === 'rotated' || rotated === 'not live');
        assert.equal((await listed()).length, rotated === 'rotated' ? 2 : 1);
        assert.equal((await access.findToken(hash))?.revokedAt, AT);
      }
    });

    test('tokens of others can be neither rotated nor revoked, nor can an id that is none', async () => {
      const [ann, bob] = [await owner(), await owner()];
      const { id, hash } = await ann.make();
      for (const one of [id, 'tok_unknown', '', '\0', 'x'.repeat(9_000), '\ud800']) {
        assert.equal(await bob.rotate(one, AT + 1), 'no token');
        assert.equal(await bob.access.revokeToken(one, AT, bob.id), false);
      }
      assert.equal((await ann.access.findToken(hash))?.revokedAt, undefined);
    });

    test('an own token is revoked once, and changes the epoch', async () => {
      const { id: user, make, access } = await owner();
      const { id, hash } = await make();
      const brief = await make({ expiresAt: AT + 1 });
      const epoch = access.accessEpoch();
      assert.equal(await access.revokeToken(id, AT, user), true);
      const changed = access.accessEpoch();
      assert.notEqual(changed, epoch);
      for (const one of [id, brief.id, 'tok_unknown']) {
        assert.equal(await access.revokeToken(one, AT + 1, user), false);
      }
      assert.equal((await access.findToken(hash))?.revokedAt, AT);
      assert.equal(access.accessEpoch(), changed);
    });

    test('the day of the last use never goes back, and leaves the epoch as it is', async () => {
      const { make, access } = await owner();
      const [one, two] = [await make(), await make()];
      const epoch = access.accessEpoch();
      const lastUses = async () => [
        (await access.findToken(one.hash))?.lastUsedOn,
        (await access.findToken(two.hash))?.lastUsedOn,
      ];
      await access.recordUses([
        { id: one.id, on: '2026-11-21' },
        { id: 'tok_gone', on: '2026-11-21' },
        { id: two.id, on: '2026-11-23' },
      ]);
      assert.deepEqual(await lastUses(), ['2026-11-21', '2026-11-23']);
      await access.recordUses([one, two].map(({ id }) => ({ id, on: '2026-11-22' })));
      assert.deepEqual(await lastUses(), ['2026-11-22', '2026-11-23']);
      assert.equal(access.accessEpoch(), epoch);
    });
  });
}
