import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLedger } from '../../../src/webhooks/delivery/ledger.ts';
import type { Outcome } from '../../../src/webhooks/delivery/port.ts';
import { rules } from './due.ts';

const RULES = { ...rules, unrecorded: 3, recordEveryMs: 10, storeRetryMs: { first: 100, most: 200 } };

/** An outcome with only the part that the ledger uses. */
const outcome = (event: string) => ({ event }) as Outcome;
const eventsOf = (batch: readonly Outcome[] | undefined) => batch?.map(({ event }) => event);

test('the first outcome is recorded at once, and those after it together, a moment later', () => {
  const ledger = createLedger(RULES);
  ledger.add(outcome('1'), 0);
  assert.deepEqual(eventsOf(ledger.next(0)), ['1']);
  ledger.recorded(true, 2);
  for (const event of ['2', '3']) ledger.add(outcome(event), 0);
  assert.equal(ledger.next(9), undefined);
  assert.equal(ledger.wakeAt(), 10);
  assert.deepEqual(eventsOf(ledger.next(10)), ['2', '3']);
});

test('a batch that the store refused is recorded again, together with later outcomes', () => {
  const ledger = createLedger(RULES);
  ledger.add(outcome('1'), 0);
  ledger.next(0);
  ledger.add(outcome('2'), 0);
  assert.deepEqual(ledger.recorded(false, 5), []);
  assert.equal(ledger.wakeAt(), 105);
  assert.deepEqual(eventsOf(ledger.next(105)), ['1', '2']);
  ledger.recorded(false, 110);
  assert.equal(ledger.retryAt(), 310);
});

test('it is full at its limit', () => {
  const ledger = createLedger(RULES);
  for (const event of ['1', '2', '3']) ledger.add(outcome(event), 0);
  assert.ok(ledger.isFull());
  ledger.next(0);
  assert.ok(ledger.isFull());
  ledger.recorded(true, 1);
  assert.ok(!ledger.isFull() && ledger.isEmpty());
});

test('it tells how many outcomes are not yet recorded, and the age of the first', () => {
  const ledger = createLedger(RULES);
  assert.deepEqual(ledger.reading(5), { commands: 0, ageMs: 0 });
  ledger.add(outcome('1'), 5);
  ledger.next(7);
  ledger.add(outcome('2'), 8);
  assert.deepEqual(ledger.reading(9), { commands: 2, ageMs: 4 });
  ledger.recorded(false, 10);
  assert.deepEqual(ledger.reading(10), { commands: 2, ageMs: 5 });
  ledger.next(110);
  ledger.add(outcome('3'), 111);
  ledger.recorded(true, 112);
  assert.deepEqual(ledger.reading(113), { commands: 1, ageMs: 2 });
});
