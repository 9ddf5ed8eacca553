import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import {
  createToken,
  hashToken,
  isLabel,
  isMistyped,
  mintToken,
  rotateToken,
} from '../../src/access/tokens.ts';
import { withAccess } from './access.ts';

test('a minted token is pst_ and 38 base62 characters, and no two are the same', () => {
  const tokens = Array.from({ length: 1000 }, () => mintToken(randomBytes));
  for (const token of tokens) assert.match(token, /^pst_[0-9A-Za-z]{38}$/);
  assert.equal(new Set(tokens).size, tokens.length);
});

test('the last six characters of a token are the CRC-32 of all before them, in base 62', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  for (let i = 0; i < 100; i++) {
    const token = mintToken(randomBytes);
    const value = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + alphabet.indexOf(digit), 0);
    assert.equal(value, crc32(token.slice(0, -6)));
  }
});

test('bytes that would make some characters more likely are skipped', () => {
  const served = [Buffer.alloc(32, 255), Buffer.alloc(32, 248), Buffer.alloc(32, 247)];
  const token = mintToken(() => served.shift() ?? Buffer.alloc(32));
  assert.equal(token.slice(4, 36), 'z'.repeat(32));
});

test('every single wrong character makes a token mistyped', () => {
  const token = mintToken(randomBytes);
  assert.equal(isMistyped(token), false);
  for (let i = 'pst_'.length; i < token.length; i++) {
    const other = token[i] === 'a' ? 'b' : 'a';
    assert.equal(isMistyped(token.slice(0, i) + other + token.slice(i + 1)), true, `at ${i}`);
  }
});

test('text that does not look like an opaque token is not called mistyped', () => {
  for (const token of [
    '',
    'pst_',
    `pst_${'a'.repeat(37)}`,
    `pst_${'a'.repeat(39)}`,
    `PST_${'a'.repeat(38)}`,
    'a.b.c',
  ]) {
    assert.equal(isMistyped(token), false, token);
  }
});

test('the hash of a token is its SHA-256 in hexadecimal', () => {
  assert.equal(hashToken('pst_x'), createHash('sha256').update('pst_x').digest('hex'));
});

test('a label may be empty and counts its characters as code points', () => {
  for (const label of ['', 'nightly import', '🌱'.repeat(255)]) assert.equal(isLabel(label), true);
  for (const label of ['🌱'.repeat(256), 'two\nlines', '\u0000', '\u007f', '\ud800'])
    assert.equal(isLabel(label), false);
});

test('a created token is found by its hash, with its label, scopes and end', async () => {
  await withAccess(async ({ store, runtime }) => {
    await store.createUser({ name: 'ann', at: runtime.clock.now() });
    const request = { user: 'ann', label: 'import', scopes: ['plants:write'], expiresInMs: 60_000 } as const;
    const made = await createToken({ store, runtime }, request);
    assert.ok(made);
    const stored = await store.findToken(hashToken(made.token));
    assert.ok(stored);
    assert.equal(stored.id, made.id);
    assert.match(stored.id, /^tok_/);
    assert.equal(stored.user.name, 'ann');
    assert.equal(stored.label, 'import');
    assert.deepEqual(stored.scopes, ['plants:write']);
    assert.equal(stored.createdAt, runtime.clock.now());
    assert.equal(stored.expiresAt, runtime.clock.now() + 60_000);
  });
});

test('a created or rotated token ends in year 9999 at the latest', async () => {
  await withAccess(async ({ store, runtime }) => {
    await store.createUser({ name: 'ann', at: runtime.clock.now() });
    const [expiresInMs, expiresAt] = [999_999 * 604_800_000, Date.parse('9999-12-31T23:59:59Z')];
    const request = { user: 'ann', label: '', scopes: ['plants:read'], expiresInMs } as const;
    const made = await createToken({ store, runtime }, request);
    assert.equal((await store.findToken(hashToken(made?.token ?? '')))?.expiresAt, expiresAt);
    const rotated = await rotateToken({ store, runtime }, { id: made?.id ?? '', overlapMs: 0, expiresInMs });
    assert.partialDeepStrictEqual(rotated, { expiresAt });
  });
});

test('a token for a user who does not exist is not created', async () => {
  await withAccess(async ({ store, runtime }) => {
    assert.equal(await createToken({ store, runtime }, { user: 'nobody', label: '', scopes: [] }), undefined);
    assert.deepEqual(await store.tokens(), []);
  });
});
