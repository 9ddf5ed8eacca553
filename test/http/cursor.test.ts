import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { AppError } from '../../src/errors.ts';
import { type CursorOrigin, createCursors } from '../../src/http/request/cursor.ts';

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const SECRET = '0123456789abcdef'.repeat(4);
const OLD_KEY = 4711;
const UPDATED = 100 * DAY;
const feed = { list: 'events', user: 7 };
const plants = { list: 'plants', user: 7 };
const PLACE = '7.42';

/** A replica with a migrated store; until `oldUntil` others may run the previous version. */
function replica(oldUntil: number) {
  const time = { now: UPDATED };
  const options = { secret: SECRET, oldKey: OLD_KEY, oldUntil, retentionDays: 30 };
  return { time, ...createCursors({ ...options, clock: { now: () => time.now } }) };
}

/** A replica of the previous version. */
const before = {
  seal: (place: string, { list, user }: CursorOrigin) =>
    `${place}.${crc32(`${list} ${OLD_KEY}.${user}.${place}`)}`,
  takes: (cursor: string, origin: CursorOrigin) => cursor === before.seal(PLACE, origin),
};

function takes({ open }: ReturnType<typeof replica>, cursor: string, origin: CursorOrigin): boolean {
  try {
    return open(cursor, origin) === PLACE;
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 40007);
    return false;
  }
}

test('a cursor ends in the HMAC of its position, user and list', () => {
  for (const origin of [plants, feed, { list: `deliveries ${'🌱'.repeat(500)} failed`, user: 1 }]) {
    const mac = createHmac('sha256', Buffer.from(SECRET, 'hex')).update(
      `${origin.user} ${PLACE} ${origin.list}`,
    );
    const cursor = `${PLACE}.${mac.digest('base64url').slice(0, 22)}`;
    assert.equal(replica(0).seal(PLACE, origin), cursor);
    assert.equal(replica(0).open(cursor, origin), PLACE);
  }
});

test('a cursor with a checksum is refused by a store that never issued one', () => {
  for (const origin of [plants, feed])
    assert.equal(takes(replica(0), before.seal(PLACE, origin), origin), false);
});

test('a migrated store accepts earlier cursors: of events as long as those are kept, of lists for a day', () => {
  const updated = replica(UPDATED);
  const takesAt = (now: number, origin: CursorOrigin) => {
    updated.time.now = now;
    return takes(updated, before.seal(PLACE, origin), origin);
  };
  assert.equal(takesAt(UPDATED + DAY - 1, plants), true);
  assert.equal(takesAt(UPDATED + DAY, plants), false);
  assert.equal(takesAt(UPDATED + 30 * DAY - 1, feed), true);
  assert.equal(takesAt(UPDATED + 30 * DAY, feed), false);
});

test("while replicas of the previous version may run, old and new ones accept each other's cursors", () => {
  const updated = replica(UPDATED + DAY);
  for (const origin of [plants, feed]) {
    for (const now of [UPDATED, UPDATED + DAY - 1]) {
      updated.time.now = now;
      assert.equal(before.takes(updated.seal(PLACE, origin), origin), true);
      assert.equal(takes(updated, before.seal(PLACE, origin), origin), true);
      // Another new replica, whose clock is ahead.
      assert.equal(takes(updated, replica(0).seal(PLACE, origin), origin), true);
    }
    updated.time.now = UPDATED + DAY;
    assert.equal(before.takes(updated.seal(PLACE, origin), origin), false);
    updated.time.now = UPDATED + 2 * DAY - 1;
    assert.equal(takes(updated, before.seal(PLACE, origin), origin), true);
  }
});
