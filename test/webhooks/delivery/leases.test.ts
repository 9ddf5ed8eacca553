import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { silentLog } from '../../../src/runtime.ts';
import { type LaneOfStore, type LeaseStore, startLeases } from '../../../src/webhooks/delivery/leases.ts';
import { systemTimers, type Timers } from '../../../src/webhooks/delivery/timers.ts';

/** A store in which this replica may take every lane; `calls` are the names of its calls in order. */
function storeWith(more: Partial<LeaseStore> = {}, leftBy?: () => string) {
  const calls: string[] = [];
  const taken = (webhook: string): LaneOfStore => ({
    webhook,
    fence: 1,
    isInherited: false,
    leftBy: leftBy?.(),
  });
  const store: LeaseStore = {
    renew: async () => true,
    members: async () => [],
    take: async (_, webhooks) => webhooks.map(taken),
    giveBack: async (_, lanes) => void calls.push(`give back ${lanes.map(({ webhook }) => webhook)}`),
    end: async () => void calls.push('end'),
    ...more,
  };
  return { store, calls };
}

function start(store: LeaseStore) {
  return startLeases({ store, name: 'this', log: silentLog, onHandOver() {} });
}

test('the lease ends after the lanes have been given back, so that nobody takes them for those of a killed replica', async () => {
  const { promise: given, resolve: answer } = Promise.withResolvers<void>();
  const { store, calls } = storeWith({
    async giveBack() {
      await given;
      calls.push('given back');
    },
  });
  const leases = await start(store);
  await leases.take(['wh_1']);
  const giving = leases.giveBack(['wh_1'], true);
  const stopping = leases.stop();
  // Time for the end, if it did not wait.
  await leases.drain();
  answer();
  await Promise.all([giving, stopping]);
  assert.deepEqual(calls, ['given back', 'end']);
});

test('a lease that was lost is not ended again, for which a stop would wait while the store is silent', async () => {
  const silent = Promise.withResolvers<boolean>();
  const answers = [Promise.resolve(true)];
  const { store, calls } = storeWith({ renew: () => answers.shift() ?? silent.promise });
  // A thousand times as fast.
  const timers: Timers = {
    ...systemTimers,
    elapsed: () => 1_000 * systemTimers.elapsed(),
    later: (callback, ms) => systemTimers.later(callback, ms / 1_000),
  };
  const leases = await startLeases({ store, name: 'this', log: silentLog, onHandOver() {}, timers });
  while (leases.replica() === 'this-1') await turn();
  const stopping = leases.stop();
  silent.reject(new Error('no answer'));
  await stopping;
  assert.deepEqual(calls, []);
});

test('the lease ends even if lanes could not be given back', async () => {
  const { store, calls } = storeWith({ giveBack: () => Promise.reject(new Error('no store')) });
  const leases = await start(store);
  await leases.take(['wh_1']);
  await assert.rejects(leases.giveBack(['wh_1'], true));
  await leases.stop();
  assert.deepEqual(calls, ['end']);
});

test('a replica that begins another life ends the lease of the one before, which a late renewal may have prolonged', async () => {
  const renewals = [true, false];
  const told: string[] = [];
  const { store } = storeWith({
    async renew(replica) {
      told.push(`renew ${replica}`);
      return renewals.shift() ?? true;
    },
    end: async (replica) => void told.push(`end ${replica}`),
  });
  const leases = await start(store);
  // Renews the lease, which has ended.
  await leases.drain();
  assert.deepEqual(told, ['renew this-1', 'renew this-1', 'end this-1', 'renew this-2']);
  await leases.stop();
});

test('a lane is suspect if another process left it, not if this one did under an earlier id', async () => {
  const renewals = [true, false];
  const leftBy: string[] = [];
  const { store } = storeWith(
    { renew: async () => renewals.shift() ?? true },
    () => leftBy.shift() ?? assert.fail(),
  );
  const leases = await start(store);
  const earlier = leases.replica();
  // Renews the lease, which has ended.
  await leases.drain();
  assert.notEqual(leases.replica(), earlier);
  leftBy.push(earlier, leases.replica(), 'other-1', 'this1-1');
  const taken = await leases.take(['wh_1', 'wh_2', 'wh_3', 'wh_4']);
  assert.deepEqual(
    taken.map(({ isSuspect }) => isSuspect),
    [false, false, true, true],
  );
  await leases.stop();
});
