import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lanes as limits } from '../../../src/limits.ts';
import { createOwnership, preferenceAmong } from '../../../src/webhooks/delivery/ownership.ts';

const RULES = { ...limits, leaseMs: 9_000, marginMs: 2_000, orphanMs: 5_000, keptMs: 60_000 };
const LANES = Array.from({ length: 10_000 }, (_, n) => `wh_01k0c3t2v4${String(n).padStart(16, '0')}`);

/** A replica whose lease was renewed at 0 and that sees these members. */
function replica(self: string, members: readonly string[]) {
  const ownership = createOwnership(RULES);
  ownership.begin(self);
  ownership.renewed(0);
  ownership.see(members, 0);
  return ownership;
}

function takeAll(ownership: ReturnType<typeof createOwnership>, now: number): string[] {
  const wanted = ownership.wants(LANES, now);
  for (const webhook of wanted) ownership.taken(webhook, 1, now);
  return wanted;
}

const preferredOf = (webhook: string, members: readonly string[]) => preferenceAmong(members)(webhook);

/** A lane for which this one is preferred among these. */
const laneOf = (preferred: string, members: readonly string[]) =>
  LANES.find((webhook) => preferredOf(webhook, members) === preferred) ?? '';

const sharesOf = (members: readonly string[]) =>
  [...Map.groupBy(LANES, (webhook) => preferredOf(webhook, members)).values()].map(({ length }) => length);

describe('preferred replicas', () => {
  test('10 000 lanes are even within a twentieth over two to seven replicas', () => {
    for (let count = 2; count <= 7; count++) {
      const members = Array.from({ length: count }, (_, n) => `${'abcdefg'[n]}-1`);
      const even = LANES.length / count;
      const shares = sharesOf(members);
      assert.equal(shares.length, count);
      for (const share of shares) assert.ok(Math.abs(share - even) < even / 20, `${share} of ${even}`);
    }
  });

  test('the order in which replicas are seen changes nothing', () => {
    const members = ['a', 'b', 'c'];
    for (const webhook of LANES.slice(0, 100))
      assert.equal(preferredOf(webhook, members), preferredOf(webhook, members.toReversed()));
  });

  test('adding or removing a replica moves only its own share', () => {
    const [two, three] = [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ];
    const moved = LANES.filter(
      (webhook) => preferredOf(webhook, two ?? []) !== preferredOf(webhook, three ?? []),
    );
    assert.ok(moved.every((webhook) => preferredOf(webhook, three ?? []) === 'c'));
    assert.ok(moved.length < LANES.length * 0.4, `${moved.length} moved`);
  });

  test('a replica that begins another life moves no lane', () => {
    for (const webhook of LANES.slice(0, 1_000)) {
      const [before, after] = [1, 7].map((life) => preferredOf(webhook, ['a-1', 'b-2', `c-${life}`]));
      assert.equal(after, before === 'c-1' ? 'c-7' : before);
    }
  });
});

describe('a replica', () => {
  test('alone takes every lane', () => {
    assert.equal(takeAll(replica('a', ['a']), 1).length, LANES.length);
  });

  test('takes the lanes it is preferred for, so that all replicas together take each lane once', () => {
    const members = ['a', 'b', 'c'];
    const taken = members.flatMap((self) => takeAll(replica(self, members), 1));
    assert.equal(taken.length, LANES.length);
    assert.equal(new Set(taken).size, LANES.length);
  });

  test('hands over only the lanes of a new one', () => {
    const ownership = replica('a', ['a', 'b']);
    const own = takeAll(ownership, 1);
    const { leaving: moved } = ownership.see(['a', 'b', 'c'], 2);
    assert.deepEqual(
      moved,
      own.filter((webhook) => preferredOf(webhook, ['a', 'b', 'c']) === 'c'),
    );
    assert.deepEqual(ownership.see(['a', 'b', 'c'], 3).leaving, moved, 'until it has given them back');
    ownership.drop(moved);
    assert.deepEqual(ownership.see(['a', 'b', 'c'], 4).leaving, []);
    assert.ok(moved.every((webhook) => !ownership.isFor(webhook)));
    assert.deepEqual(ownership.wants(moved, 4), []);
  });

  test('takes back what it handed over to one that is gone', () => {
    const ownership = replica('a', ['a']);
    takeAll(ownership, 1);
    const { leaving: moved } = ownership.see(['a', 'b'], 2);
    ownership.drop(moved);
    assert.deepEqual(ownership.see(['a'], 3), { leaving: [], isAnyGone: true });
    assert.deepEqual(ownership.wants(moved, 4), moved);
  });

  test('takes the lanes of one that is gone as soon as it disappears', () => {
    const ownership = replica('a', ['a', 'b']);
    takeAll(ownership, 1);
    const others = LANES.filter((webhook) => preferredOf(webhook, ['a', 'b']) === 'b');
    assert.deepEqual(ownership.wants(others, 2), []);
    ownership.see(['a'], 3);
    assert.deepEqual(ownership.wants(others, 4), others);
  });

  test('is told once when another is gone, but not when one is new', () => {
    const ownership = replica('a', ['a', 'b']);
    assert.equal(ownership.see(['a', 'b', 'c'], 1).isAnyGone, false);
    assert.equal(ownership.see(['a', 'c'], 2).isAnyGone, true);
    assert.equal(ownership.see(['a', 'c'], 3).isAnyGone, false);
  });

  test('takes a lane that its preferred replica ignores for some seconds', () => {
    const ownership = replica('a', ['a', 'b']);
    const lane = laneOf('b', ['a', 'b']);
    for (const now of [1_000, 2_000, 4_000, 5_900]) assert.deepEqual(ownership.wants([lane], now), []);
    assert.deepEqual(ownership.wants([lane], 6_000), [lane]);
  });

  test('hands over at its next look what it took after the new preferred replica appeared', () => {
    const ownership = replica('a', ['a']);
    const lane = laneOf('b', ['a', 'b']);
    assert.deepEqual(ownership.wants([lane], 1), [lane]);
    assert.deepEqual(ownership.see(['a', 'b'], 2).leaving, []);
    ownership.taken(lane, 1, 3);
    assert.deepEqual(ownership.see(['a', 'b'], 4).leaving, [lane]);
  });

  test('hands a lane that it took as an orphan over to its preferred replica after a while', () => {
    const ownership = replica('a', ['a', 'b']);
    const lane = laneOf('b', ['a', 'b']);
    for (const now of [1_000, 6_000]) ownership.wants([lane], now);
    ownership.taken(lane, 1, 6_000);
    assert.deepEqual(ownership.see(['a', 'b'], 65_999).leaving, []);
    assert.deepEqual(ownership.see(['a', 'b'], 66_000).leaving, [lane]);
  });

  test('does not treat a lane as an orphan that was owned meanwhile', () => {
    const ownership = replica('a', ['a', 'b']);
    const lane = laneOf('b', ['a', 'b']);
    assert.deepEqual(ownership.wants([lane], 0), []);
    ownership.renewed(60_000);
    assert.deepEqual(ownership.wants([lane], 60_000), []);
    assert.deepEqual(ownership.wants([lane], 64_000), []);
  });

  test('takes an orphan even if slow searches rarely see it', () => {
    const ownership = replica('a', ['a', 'b']);
    const lane = laneOf('b', ['a', 'b']);
    for (const now of [0, 6_000]) {
      ownership.renewed(now);
      assert.deepEqual(ownership.wants([lane], now), now === 0 ? [] : [lane]);
    }
  });

  test('that could not renew stops sending before its lease ends, counted from its last request', () => {
    const ownership = replica('a', ['a']);
    const [lane = ''] = takeAll(ownership, 1);
    ownership.renewed(3_000);
    assert.equal(ownership.endsAt(), 10_000);
    assert.equal(ownership.mayServe(lane, 9_999), true);
    assert.equal(ownership.mayServe(lane, 10_000), false);
    assert.deepEqual(ownership.wants(LANES, 10_000), []);
  });

  test('that lost its lease owns nothing, under another name', () => {
    const ownership = replica('a', ['a', 'b']);
    const own = takeAll(ownership, 1);
    const lost = ownership.begin('c');
    assert.deepEqual(lost.toSorted(), own.toSorted());
    assert.deepEqual(ownership.owned(), []);
    assert.deepEqual(ownership.wants(LANES, 2), []);
    ownership.renewed(2);
    ownership.see(['b', 'c'], 2);
    const mine = ownership.wants(LANES, 3);
    assert.deepEqual(
      mine,
      LANES.filter((webhook) => preferredOf(webhook, ['b', 'c']) === 'c'),
    );
  });

  test('gives lanes back under the fence with which it took them', () => {
    const ownership = replica('a', ['a']);
    ownership.taken('wh_1', 7, 1);
    assert.deepEqual(ownership.drop(['wh_1', 'wh_2']), [{ webhook: 'wh_1', fence: 7 }]);
    assert.deepEqual(ownership.drop(['wh_1']), []);
  });
});
