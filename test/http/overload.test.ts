import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchOverload } from '../../src/http/admission/overload.ts';
import { http as limits } from '../../src/limits.ts';

/** A watch, and a way to run slices one after another. */
function watched() {
  const overload = watchOverload();
  const time = { now: 1000 };
  return {
    overload,
    time,
    /**
     * Runs slices for this long. In each, the oldest remaining request has waited `waitedMs`; undefined means none
     * remains.
     */
    slices(forMs: number, waitedMs?: number, perSlice = 10): void {
      for (const end = time.now + forMs; time.now < end; ) {
        time.now += limits.sliceMs;
        const oldestAt = waitedMs === undefined ? undefined : time.now - waitedMs;
        overload.sliceEnded({ now: time.now, perSlice, oldestAt });
      }
    },
  };
}

const LATE = limits.lateMs + 1;
const LONG = limits.patienceMs + 2 * limits.sliceMs;

test('when the oldest request keeps waiting too long, only some requests may wait', () => {
  const { overload, slices } = watched();
  slices(LONG, LATE);
  assert.equal(overload.room(), limits.leastRoom);
});

test('in an overload, as many requests may wait as run in two slices', () => {
  const { overload, slices } = watched();
  slices(LONG, LATE, limits.leastRoom);
  assert.equal(overload.room(), 2 * limits.leastRoom);
});

test('a queue that empties now and then is not an overload, however long it is', () => {
  const { overload, slices } = watched();
  for (let burst = 0; burst < 10; burst++) {
    slices(limits.patienceMs / 2, 10 * LATE);
    slices(limits.sliceMs);
  }
  assert.equal(overload.room(), undefined);
});

test('requests that wait only briefly are not an overload', () => {
  const { overload, slices } = watched();
  slices(100 * LONG, limits.lateMs);
  assert.equal(overload.room(), undefined);
});

test('a process that was stopped while requests waited is not overloaded', () => {
  const { overload, time, slices } = watched();
  slices(limits.sliceMs, LATE);
  time.now += 3_600_000;
  slices(limits.sliceMs, 3_600_000);
  assert.equal(overload.room(), undefined);
});

test('an overload ends when nothing has been refused for a while', () => {
  const { overload, time, slices } = watched();
  slices(LONG, LATE);
  for (let refusals = 0; refusals < 10; refusals++) {
    overload.refused(time.now);
    slices(limits.patienceMs - limits.sliceMs);
    assert.equal(overload.room(), limits.leastRoom);
  }
  slices(LONG);
  assert.equal(overload.room(), undefined);
});
