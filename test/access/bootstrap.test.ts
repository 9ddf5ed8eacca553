import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFirstToken, setBootstrapToken } from '../../src/access/bootstrap.ts';
import { scopes } from '../../src/access/scopes.ts';
import { hashToken } from '../../src/access/tokens.ts';
import { withAccess } from './access.ts';

const CHOSEN = 'chosen-by-the-operator-0123456789abcdef';
const OTHER = 'another-one-of-the-operator-0123456789abcdef';

test('the first run creates admin and a token with every scope', async () => {
  await withAccess(async (parts) => {
    const token = await createFirstToken(parts);
    assert.ok(token);
    const stored = await parts.store.findToken(hashToken(token));
    assert.equal(stored?.user.name, 'admin');
    assert.equal(stored?.label, 'first run');
    assert.deepEqual(stored?.scopes, scopes);
    assert.equal(stored?.expiresAt, undefined);
  });
});

test('later runs create no token, even if the first one was revoked', async () => {
  await withAccess(async (parts) => {
    await createFirstToken(parts);
    assert.equal(await createFirstToken(parts), undefined);
    for (const { id } of await parts.store.tokens())
      await parts.store.revokeToken(id, parts.runtime.clock.now());
    assert.equal(await createFirstToken(parts), undefined);
    assert.equal((await parts.store.tokens()).length, 1);
  });
});

test('a first run interrupted between user and token is completed by the next one', async () => {
  await withAccess(async (parts) => {
    await parts.store.createUser({ name: 'admin', at: parts.runtime.clock.now() });
    assert.ok(await createFirstToken(parts));
    assert.equal((await parts.store.users()).length, 1);
  });
});

test('of several first runs at the same time one creates a token', async () => {
  await withAccess(async (parts) => {
    const tokens = await Promise.all([1, 2, 3].map(() => createFirstToken(parts)));
    assert.equal(tokens.filter((token) => token !== undefined).length, 1);
    assert.equal((await parts.store.tokens()).length, 1);
  });
});

test('a bootstrap token belongs to admin, and no random token is created', async () => {
  await withAccess(async (parts) => {
    await setBootstrapToken(parts, CHOSEN);
    const tokens = await parts.store.tokens();
    assert.equal(tokens.length, 1);
    assert.deepEqual(await parts.store.findToken(hashToken(CHOSEN)), tokens[0]);
    assert.equal(tokens[0]?.user.name, 'admin');
    assert.deepEqual(tokens[0]?.scopes, scopes);
  });
});

test('the same bootstrap token again changes nothing; without one nothing is created', async () => {
  await withAccess(async (parts) => {
    await setBootstrapToken(parts, CHOSEN);
    const before = await parts.store.tokens();
    await setBootstrapToken(parts, CHOSEN);
    await createFirstToken(parts);
    assert.deepEqual(await parts.store.tokens(), before);
  });
});

test('another bootstrap token replaces the one before and leaves other tokens alone', async () => {
  await withAccess(async (parts) => {
    const first = await createFirstToken(parts);
    await setBootstrapToken(parts, CHOSEN);
    await setBootstrapToken(parts, OTHER);
    assert.equal(await isLive(CHOSEN), false);
    assert.equal(await isLive(OTHER), true);
    assert.equal(await isLive(first ?? ''), true);

    async function isLive(token: string): Promise<boolean> {
      const stored = await parts.store.findToken(hashToken(token));
      return stored !== undefined && stored.revokedAt === undefined;
    }
  });
});
