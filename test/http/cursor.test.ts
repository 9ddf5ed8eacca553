import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { createCursors } from '../../src/http/request/cursor.ts';

const SECRET = '0123456789abcdef'.repeat(4);
const feed = { list: 'events', user: 7 };
const plants = { list: 'plants', user: 7 };
const PLACE = '7.42';
const cursors = createCursors({ secret: SECRET });

test('a cursor ends in the HMAC of its position, user and list', () => {
  for (const origin of [plants, feed, { list: `deliveries ${'🌱'.repeat(500)} failed`, user: 1 }]) {
    const mac = createHmac('sha256', Buffer.from(SECRET, 'hex')).update(
      `${origin.user} ${PLACE} ${origin.list}`,
    );
    const cursor = `${PLACE}.${mac.digest('base64url').slice(0, 22)}`;
    assert.equal(cursors.seal(PLACE, origin), cursor);
    assert.equal(cursors.open(cursor, origin), PLACE);
  }
});

test('a cursor of another list, user, position or key is refused, and so is a checksum', () => {
  const sealed = cursors.seal(PLACE, plants);
  const seal = sealed.slice(PLACE.length);
  for (const cursor of [
    cursors.seal(PLACE, feed),
    cursors.seal(PLACE, { ...plants, user: 8 }),
    createCursors({ secret: SECRET.replaceAll('0', '1') }).seal(PLACE, plants),
    `7.43${seal}`,
    `${sealed}A`,
    sealed.slice(0, -1),
    seal,
    '',
    `${PLACE}.${crc32(`plants 4711.7.${PLACE}`)}`,
  ]) {
    assert.throws(() => cursors.open(cursor, plants), { code: 40007 }, cursor);
  }
});
