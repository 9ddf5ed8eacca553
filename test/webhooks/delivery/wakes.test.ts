import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWakes } from '../../../src/webhooks/delivery/wakes.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

test('everyone is woken once, at the time that was set last, earliest first', () => {
  const random = seededRandom(testSeed);
  const wakes = createWakes<number>();
  const times = new Map<number, number>();
  for (let now = 0; now < 5_000; now++) {
    const one = Math.floor(random() * 50);
    const at = now + Math.floor(random() * 100);
    if (random() < 0.2) {
      wakes.clear(one);
      times.delete(one);
    } else {
      wakes.set(one, at);
      times.set(one, at);
    }
    assert.equal(wakes.at(one), times.get(one));
    assert.equal(wakes.next(), times.size > 0 ? Math.min(...times.values()) : undefined);
    if (random() < 0.7) continue;
    const woken = wakes.due(now);
    const due = [...times].filter(([, time]) => time <= now);
    assert.deepEqual(
      woken.map((each) => times.get(each)),
      due.map(([, time]) => time).sort((a, b) => a - b),
    );
    assert.deepEqual(new Set(woken), new Set(due.map(([each]) => each)));
    for (const each of woken) times.delete(each);
  }
});

test('those with the same time are woken in the order in which it was set', () => {
  const wakes = createWakes<string>();
  for (const one of ['a', 'b', 'c', 'd']) wakes.set(one, 7);
  wakes.clear('b');
  wakes.set('a', 8);
  wakes.set('a', 7);
  assert.deepEqual(wakes.due(7), ['c', 'd', 'a']);
  assert.equal(wakes.next(), undefined);
});
