import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { delivery, feeds } from '../../../src/limits.ts';
import { accessEpoch, visibleOwners } from '../../../src/store/sqlite/access/visible-owners.ts';
import { deliveryReads } from '../../../src/store/sqlite/deliveries/deliveries.ts';
import { findWork, laneReads } from '../../../src/store/sqlite/deliveries/lanes.ts';
import { openConnection } from '../../../src/store/sqlite/engine/connection.ts';
import { migrate } from '../../../src/store/sqlite/engine/migrate.ts';
import { createSnapshot } from '../../../src/store/sqlite/engine/snapshot.ts';
import type { Position } from '../../../src/webhooks/delivery/port.ts';

/** What no answer shows may be long, and is passed over in several turns of the event loop. */

const db = openConnection(':memory:');
const snapshot = createSnapshot(db, { readFailed: (error) => error });
const visible = () => visibleOwners(db, snapshot, accessEpoch(db, snapshot));
const PARTS = 3;
const HIDDEN = PARTS * feeds.walked;
const HELD = PARTS * delivery.searchedTogether;
const [viewer, former, other] = [1, 2, 3];
const HOOK = 'wh_a';

/** The viewer has one delivery before and one after all those of a share that was just removed. */
before(() => {
  migrate(db, 0);
  db.exec(`INSERT INTO users (id, name, created_at) VALUES (1, 'viewer', 0), (2, 'former', 0), (3, 'other', 0);
    INSERT INTO webhooks (owner, id, url, status, private_key, public_key, created_at)
    VALUES (${viewer}, '${HOOK}', '', 'enabled', '', '', 0), (${viewer}, 'wh_b', '', 'enabled', '', '', 0),
      (${other}, 'wh_d', '', 'enabled', '', '', 0);
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${HIDDEN} + 1)
    INSERT INTO events (owner, id, plant, name, created_at)
    SELECT iif(i IN (0, ${HIDDEN} + 1), ${viewer}, ${former}), printf('evt_%026d', i), i, 'Fern', 0 FROM n;
    INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, generation)
    SELECT '${HOOK}', id, owner, 'pending', 0, 0, 7, 0 FROM events;
    INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, generation)
    SELECT 'wh_b', id, owner, 'pending', 0, 0, 7, 0 FROM events WHERE owner = ${viewer};
    INSERT INTO withdrawals SELECT '${HOOK}', ${former}, '', max(id) FROM events;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${HELD})
    INSERT INTO webhooks (owner, id, url, status, private_key, public_key, created_at)
    SELECT ${other}, printf('wh_c%05d', i), '', 'disabled', '', '', 0 FROM n;
    INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, generation)
    SELECT id, 'evt_0', ${other}, 'pending', 0, 0, 7, 0 FROM webhooks WHERE owner = ${other}`);
});
after(() => {
  snapshot.end();
  db.close();
});

test('a page passes over the deliveries of a removed share in several turns, and misses none around them', async () => {
  const { page } = deliveryReads(db, snapshot, visible());
  const query = { owner: viewer, webhook: undefined, from: '', after: undefined, events: undefined };
  const [oldest, newest] = [0, HIDDEN + 1].map((i) => `evt_${String(i).padStart(26, '0')}`);
  const all = [`${newest} wh_b`, `${newest} wh_a`, `${oldest} wh_b`, `${oldest} wh_a`];
  for (const state of [undefined, 'pending'] as const) {
    for (const limit of [3, 4, 100]) {
      const { value, turns } = await inTurns(() => page({ ...query, state, limit }));
      assert.deepEqual(
        value.map(({ event, webhook }) => `${event.id} ${webhook}`),
        all.slice(0, limit),
      );
      assert.ok(turns >= PARTS, `${turns} turns`);
    }
    const { turns } = await inTurns(() => page({ ...query, state, limit: 2 }));
    assert.equal(turns, 0);
  }
});

test('a lane with deliveries of a removed share is read in parts, which find all others', () => {
  const lanes = laneReads(db);
  const seen: string[] = [];
  let reads = 0;
  for (let from: Position | undefined, isFirst = true; isFirst || from; isFirst = false, reads++) {
    const part = lanes.read({ webhook: HOOK, now: 8, after: from, limit: 5, askedLimit: 5 }, 8);
    assert.ok(part);
    seen.push(...part.due.map(({ id }) => String(id)));
    from = part.through;
  }
  assert.deepEqual(seen, [`evt_${'0'.repeat(26)}`, `evt_${String(HIDDEN + 1).padStart(26, '0')}`]);
  assert.ok(reads >= PARTS, `${reads} reads`);
});

test('a search for work passes over disabled webhooks in several turns', async () => {
  const lanes = laneReads(db);
  const found = await inTurns(() => findWork(snapshot, lanes, 'wh_b', 10));
  assert.deepEqual(found.value, [{ webhook: 'wh_d', due: 7 }]);
  assert.ok(found.turns >= PARTS, `${found.turns} turns`);
});

test('what several users and webhooks have is counted in several turns, however little each has', async () => {
  const { sharers, rows } = addSharers(PARTS * 3, Math.ceil(feeds.counted / 3));
  const { activity, countReplay } = deliveryReads(db, snapshot, visible());
  const counted = await inTurns(() => activity({ viewer: sharers, from: '', before: '~', most: Infinity }));
  assert.equal(counted.value?.plants, rows);
  assert.ok(counted.turns >= PARTS, `${counted.turns} turns`);
  const replay = { owner: sharers, webhook: HOOK, from: '', state: undefined };
  const { value, turns } = await inTurns(() => countReplay(replay));
  assert.equal(value, rows);
  assert.ok(turns >= PARTS, `${turns} turns`);
});

/** A user with whom these many others share these many events each. */
function addSharers(count: number, events: number) {
  const sharers = 10;
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO users (id, name, created_at) SELECT ${sharers} + i, 'sharer ' || i, 0 FROM n;
    INSERT INTO shares (owner, viewer, created_at) SELECT id, ${sharers}, 0 FROM users WHERE id > ${sharers};
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${events})
    INSERT INTO events (owner, id, plant, name, created_at)
    SELECT owner, printf('evt_%06d%06d', i, owner), i, 'Fern', 0 FROM shares JOIN n;`);
  return { sharers, rows: count * events };
}

/** How many turns of the event loop pass until the result. */
async function inTurns<T>(work: () => Promise<T>): Promise<{ value: T; turns: number }> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    if (isOver) return;
    turns++;
    setImmediate(count);
  };
  setImmediate(count);
  const value = await work();
  isOver = true;
  return { value, turns };
}
