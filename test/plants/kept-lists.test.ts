import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptLists } from '../../src/plants/kept-lists.ts';

const ROOM = 100_000;
/** About a third of that. */
const LONG = 'x'.repeat(15_000);

/** Kept lists of a store whose stamps are set by hand. */
function keptWith(most?: number) {
  const stamps = new Map<number, string | undefined>();
  const lists = keptLists<string>((viewer) => (stamps.has(viewer) ? stamps.get(viewer) : 'first'), most);
  /** Requests a list as often as it takes until it enters, at most twice. */
  const keep = (query: string, list: string) =>
    (lists.keeper(1, query) ?? lists.keeper(1, query))?.(list, list);
  return { lists, stamps, keep };
}

test('a list is kept from its second request on', () => {
  const { lists } = keptWith();
  assert.equal(lists.keeper(1, 'a'), undefined);
  assert.equal(lists.keeper(2, 'a'), undefined);
  lists.keeper(1, 'a')?.('list', 'list');
  assert.equal(lists.find(1, 'a'), 'list');
  assert.equal(lists.find(2, 'a'), undefined);
  assert.equal(lists.find(1, 'b'), undefined);
});

test('a kept list is used while its stamp stays the same, and replaced at once when it has changed', () => {
  const { lists, stamps, keep } = keptWith();
  keep('a', 'old');
  stamps.set(1, undefined);
  assert.equal(lists.find(1, 'a'), undefined);
  assert.equal(lists.keeper(1, 'a'), undefined);
  stamps.set(1, 'second');
  assert.equal(lists.find(1, 'a'), undefined);
  lists.keeper(1, 'a')?.('new', 'new');
  assert.equal(lists.find(1, 'a'), 'new');
});

test('a list that changes while it is read is not used', () => {
  const { lists, stamps } = keptWith();
  lists.keeper(1, 'a');
  const keep = lists.keeper(1, 'a');
  stamps.set(1, 'second');
  keep?.('of the first stamp', 'text');
  assert.equal(lists.find(1, 'a'), undefined);
});

test('lists share the room, and the least recently used one makes place', () => {
  const { lists, keep } = keptWith(ROOM);
  for (const query of ['a', 'b', 'c']) keep(query, LONG);
  assert.equal(lists.find(1, 'a'), LONG);
  keep('d', LONG);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].filter((query) => lists.find(1, query)),
    ['a', 'c', 'd'],
  );
  keep('e', 'x'.repeat(ROOM / 2 - 1_000));
  assert.deepEqual(
    ['a', 'c', 'd', 'e'].filter((query) => lists.find(1, query)),
    ['e'],
  );
  // Replacing a list frees its room.
  for (let i = 0; i < 10; i++) keep('e', 'short');
  for (const query of ['f', 'g', 'h']) keep(query, LONG);
  assert.ok(lists.find(1, 'f'));
});

test('without room, and without stamps, nothing is kept', () => {
  const { lists, keep } = keptWith(0);
  keep('a', 'list');
  assert.equal(lists.find(1, 'a'), undefined);
  const unstamped = keptLists<string>(undefined);
  assert.equal(unstamped.keeper(1, 'a') ?? unstamped.keeper(1, 'a'), undefined);
});
