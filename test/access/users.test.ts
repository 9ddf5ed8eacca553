import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUser, isUserName } from '../../src/access/users.ts';
import { withAccess } from './access.ts';

test('a user name has 1 to 255 code points', () => {
  for (const name of ['a', 'Ann Example', 'ann@example.org', 'Ünal', '木', '🌱'.repeat(255)]) {
    assert.equal(isUserName(name), true, name);
  }
  for (const name of ['', '🌱'.repeat(256)]) assert.equal(isUserName(name), false, name);
});

test('a user name has no control character, no lone surrogate, and no white space at its ends', () => {
  for (const name of [
    'a\nb',
    'a\u0000',
    'a\u0085b',
    '\ud800',
    'a\udc00',
    ' a',
    'a ',
    'a\u00a0',
    '\u3000a',
    ' ',
  ]) {
    assert.equal(isUserName(name), false, JSON.stringify(name));
  }
});

test('a taken name creates no second user', async () => {
  await withAccess(async ({ store, runtime }) => {
    const first = await createUser({ store, runtime }, 'ann');
    assert.equal(first?.name, 'ann');
    assert.equal(first?.createdAt, runtime.clock.now());
    assert.equal(await createUser({ store, runtime }, 'ann'), undefined);
    assert.equal((await createUser({ store, runtime }, 'Ann'))?.name, 'Ann');
    assert.equal((await store.users()).length, 2);
  });
});
