import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchOverload } from '../../src/http/admission/overload.ts';
import { http as limits } from '../../src/limits.ts';

/** A watch, and slices that follow each other at once. */
function watched() {
  const overload = watchOverload();
  const time = { now: 1000 };
  return {
    overload,
    time,
    /** Slices for so long, in each of which the oldest that is left has waited `waitedMs`; none is left without. */
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

test('when the oldest request waits too long all the while, only some may wait', () => {
  const { overload, slices } = watched();
  slices(LONG, LATE);
  assert.equal(overload.room(), limits.leastRoom);
});

test('in an overload, as many requests may wait as run in two slices', () => {
  const { overload, slices } = watched();
  slices(LONG, LATE, limits.leastRoom);
  assert.equal(overload.room(), 2 * limits.leastRoom);
});

test('a queue that empties now and then is no overload, however long it is', () => {
  const { overload, slices } = watched();
  for (let burst = 0; burst < 10; burst++) {
    slices(limits.patienceMs / 2, 10 * LATE);
    slices(limits.sliceMs);
  }
  assert.equal(overload.room(), undefined);
});

test('requests that wait for a while, and not for long, are no overload', () => {
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
