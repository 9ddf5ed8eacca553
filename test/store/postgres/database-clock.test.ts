import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createDatabaseClock } from '../../../src/store/postgres/replicas/database-clock.ts';

/** A monotonic clock that a test sets, and the database's time by it. */
function clockAt(start: number) {
  const time = { at: start };
  return { time, clock: createDatabaseClock(() => time.at) };
}

describe('the clock of the database', () => {
  test('is not known before an answer carried it', () => {
    assert.throws(() => clockAt(0).clock.now(), /still unknown/);
  });

  test('is taken from the middle between question and answer, and goes on by itself', () => {
    const { time, clock } = clockAt(1_000);
    clock.heard(5_000_000, 900, 1_000);
    assert.equal(clock.now(), 5_000_050);
    time.at += 250;
    assert.equal(clock.now(), 5_000_300);
  });

  test('stays as it is while answers agree with it, however slow they are', () => {
    const { time, clock } = clockAt(1_000);
    clock.heard(5_000_000, 999, 1_000);
    time.at = 9_000;
    clock.heard(5_004_000, 1_000, 9_000);
    assert.equal(clock.now(), 5_008_000);
  });

  test('is set right by an answer that rules it out, no further than need be', () => {
    const { time, clock } = clockAt(1_000);
    clock.heard(5_000_000, 0, 1_000);
    assert.equal(clock.now(), 5_000_500);
    clock.heard(5_000_990, 990, 1_000);
    assert.equal(clock.now(), 5_000_990);
    time.at = 2_000;
    assert.equal(clock.now(), 5_001_990);
  });

  test('never goes back: when it is ahead it goes at half the pace until it is right', () => {
    const { time, clock } = clockAt(1_000);
    clock.heard(5_000_000, 1_000, 1_000);
    assert.equal(clock.now(), 5_000_000);
    clock.heard(4_999_000, 1_000, 1_000);
    assert.equal(clock.now(), 5_000_000);
    assert.equal(clock.right(), 4_999_000);
    time.at += 1_000;
    assert.equal(clock.now(), 5_000_500);
    time.at += 1_000;
    assert.equal(clock.now(), 5_001_000);
    time.at += 1_000;
    assert.equal(clock.now(), 5_002_000);
  });
});
