import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CountedWindows, countWindows } from '../../src/http/admission/counted-windows.ts';

let now = 0;
const clock = { now: () => now };

function windows(most = 1_000): CountedWindows {
  return countWindows({ lengthMs: 60_000, most, clock });
}

function times(count: number, act: () => void): void {
  for (let n = 0; n < count; n++) act();
}

test('a window starts with its first count, and ends after its length', () => {
  now = 5_000;
  const counted = windows();
  assert.equal(counted.find('a'), undefined);
  times(3, () => counted.count('a'));
  now += 59_999;
  assert.deepEqual(counted.find('a'), { count: 3, endsAt: 65_000 });
  now += 1;
  assert.equal(counted.find('a'), undefined);
  assert.deepEqual(counted.count('a'), { count: 1, endsAt: 125_000 });
});

test('each key is counted separately', () => {
  const counted = windows();
  times(2, () => counted.count('a'));
  assert.equal(counted.count('b').count, 1);
  assert.equal(counted.count('a').count, 3);
});

test('the rest of a window is reported in whole seconds, at least one', () => {
  now = 0;
  const counted = windows();
  const window = counted.count('a');
  const leftAt = (at: number) => {
    now = at;
    return counted.secondsLeft(window);
  };
  assert.deepEqual([0, 1, 999, 1_000, 58_000, 59_001, 59_999].map(leftAt), [60, 60, 60, 59, 2, 1, 1]);
});

test('many keys counted once do not displace keys counted often', () => {
  const counted = windows(1_000);
  const worst = Array.from({ length: 100 }, (_, n) => `worst ${n}`);
  for (const key of worst) times(300, () => counted.count(key));
  times(100_000, () => counted.count(`one of many ${Math.random()}`));
  assert.deepEqual(
    worst.filter((key) => counted.find(key)?.count !== 300),
    [],
  );
});

test('nor do they while those are still being counted', () => {
  const counted = windows(1_000);
  times(300, () => {
    counted.count('persistent');
    times(500, () => counted.count(`one of many ${Math.random()}`));
  });
  assert.equal(counted.find('persistent')?.count, 300);
});

test('when full, keys whose window has ended are forgotten first', () => {
  now = 0;
  const counted = windows(32);
  times(32, () => counted.count('old'));
  now += 30_000;
  for (let n = 1; n < 32; n++) counted.count(`young ${n}`);
  now += 30_000;
  counted.count('new');
  for (let n = 1; n < 32; n++) assert.equal(counted.find(`young ${n}`)?.count, 1);
});
