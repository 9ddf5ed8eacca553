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
  ledger.add(outcome('1'));
  assert.deepEqual(eventsOf(ledger.next(0)), ['1']);
  ledger.recorded(true, 2);
  for (const event of ['2', '3']) ledger.add(outcome(event));
  assert.equal(ledger.next(9), undefined);
  assert.equal(ledger.wakeAt(), 10);
  assert.deepEqual(eventsOf(ledger.next(10)), ['2', '3']);
});

test('a batch that the store refused is recorded again, together with later outcomes', () => {
  const ledger = createLedger(RULES);
  ledger.add(outcome('1'));
  ledger.next(0);
  ledger.add(outcome('2'));
  assert.deepEqual(ledger.recorded(false, 5), []);
  assert.equal(ledger.wakeAt(), 105);
  assert.deepEqual(eventsOf(ledger.next(105)), ['1', '2']);
  ledger.recorded(false, 110);
  assert.equal(ledger.retryAt(), 310);
});

test('it is full at its limit', () => {
  const ledger = createLedger(RULES);
  for (const event of ['1', '2', '3']) ledger.add(outcome(event));
  assert.ok(ledger.isFull());
  ledger.next(0);
  assert.ok(ledger.isFull());
  ledger.recorded(true, 1);
  assert.ok(!ledger.isFull() && ledger.isEmpty());
});
