import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptLists } from '../../src/plants/kept-lists.ts';

const ROOM = 100_000;
/** About a third of that. */
const LONG = 'x'.repeat(15_000);

/** Kept lists of a store whose stamps are set by hand. */
function keptWith(most?: number) {
  const stamps = new Map<number, string>();
  const lists = keptLists<{ json: unknown }>((viewer) => stamps.get(viewer) ?? 'first', most);
  const find = async (viewer: number, query: string) => (await lists.find(viewer, query))?.json;
  const read = (viewer: number, query: string, json: unknown) =>
    lists.read(viewer, query, async () => ({ json }));
  /** Requests a list as often as it takes until it enters. */
  const keep = async (query: string, json: string) => {
    await read(1, query, json);
    await read(1, query, json);
  };
  return { lists, stamps, find, read, keep };
}

test('a list is kept from its second request on', async () => {
  const { find, read } = keptWith();
  await read(1, 'a', 'list');
  await read(2, 'a', 'list of another');
  assert.equal(await find(1, 'a'), undefined);
  await read(1, 'a', 'list');
  assert.equal(await find(1, 'a'), 'list');
  assert.equal(await find(2, 'a'), undefined);
  assert.equal(await find(1, 'b'), undefined);
});

test('a kept list is used while its stamp stays the same, and replaced at once when it has changed', async () => {
  const { stamps, find, read, keep } = keptWith();
  await keep('a', 'old');
  stamps.set(1, 'second');
  assert.equal(await find(1, 'a'), undefined);
  await read(1, 'a', 'new');
  assert.equal(await find(1, 'a'), 'new');
});

test('a list that changes while it is read is not used', async () => {
  const { stamps, find, read } = keptWith();
  await read(1, 'a', 'list');
  const reading = read(1, 'a', 'of the first stamp');
  stamps.set(1, 'second');
  assert.equal(await find(1, 'a'), undefined);
  await reading;
  assert.equal(await find(1, 'a'), undefined);
});

test('who requests a list while it is read waits for it, until it changes', async () => {
  const { lists, stamps, find, read } = keptWith();
  await read(1, 'a', 'list');
  const first = Promise.withResolvers<{ json: string }>();
  const reading = lists.read(1, 'a', () => first.promise);
  const found = find(1, 'a');
  stamps.set(1, 'second');
  const second = read(1, 'a', 'of the second stamp');
  const foundLater = find(1, 'a');
  await second;
  first.resolve({ json: 'of the first stamp' });
  assert.deepEqual([(await reading).json, await found], ['of the first stamp', 'of the first stamp']);
  assert.deepEqual([await foundLater, await find(1, 'a')], ['of the second stamp', 'of the second stamp']);
});

test('a long list, and one that cannot be read, is not kept, and who waits for it reads it again', async () => {
  const { lists, find, read } = keptWith();
  const failing = () => lists.read(1, 'a', () => Promise.reject(new Error('no disk')));
  for (const attempt of [failing, () => read(1, 'a', () => 'part')]) {
    await read(1, 'a', 'list');
    await read(1, 'a', 'list');
    const reading = attempt().catch((error) => ({ json: error.message }));
    assert.equal(await find(1, 'a'), undefined);
    assert.notEqual((await reading).json, 'list');
    assert.equal(lists.find(1, 'a'), undefined);
  }
});

test('lists share the room, and the least recently used one makes place', async () => {
  const { find, keep } = keptWith(ROOM);
  const found = async (...queries: string[]) => {
    const lists = await Promise.all(queries.map((query) => find(1, query)));
    return queries.filter((_, i) => lists[i] !== undefined);
  };
  for (const query of ['a', 'b', 'c']) await keep(query, LONG);
  assert.equal(await find(1, 'a'), LONG);
  await keep('d', LONG);
  assert.deepEqual(await found('a', 'b', 'c', 'd'), ['a', 'c', 'd']);
  await keep('e', 'x'.repeat(ROOM / 2 - 1_000));
  assert.deepEqual(await found('a', 'c', 'd', 'e'), ['e']);
  // Replacing a list frees its room.
  for (let i = 0; i < 10; i++) await keep('e', 'short');
  for (const query of ['f', 'g', 'h']) await keep(query, LONG);
  assert.deepEqual(await found('f'), ['f']);
});

test('without room, and without stamps, nothing is kept', async () => {
  const { find, keep } = keptWith(0);
  await keep('a', 'list');
  assert.equal(await find(1, 'a'), undefined);
  const unstamped = keptLists<{ json: string }>(undefined);
  for (let i = 0; i < 3; i++) await unstamped.read(1, 'a', async () => ({ json: 'list' }));
  assert.equal(unstamped.find(1, 'a'), undefined);
});
