import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUserName } from '../../src/access/users.ts';
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
    const at = runtime.clock.now();
    const first = await store.createUser({ name: 'ann', at });
    assert.equal(first?.name, 'ann');
    assert.equal(first?.createdAt, at);
    assert.equal(await store.createUser({ name: 'ann', at }), undefined);
    assert.equal((await store.createUser({ name: 'Ann', at }))?.name, 'Ann');
    assert.equal((await store.users()).length, 2);
  });
});
