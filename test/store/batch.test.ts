import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import { writes } from '../../src/limits.ts';
import { createCounts } from '../../src/observability/counts.ts';
import type { EndedBatch } from '../../src/observability/port.ts';
import { type BatchRules, groupCommit } from '../../src/store/batch.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';

/** A commit that ends when told to. */
function steered(rules?: BatchRules<number>) {
  const batches: { commands: number[]; end: PromiseWithResolvers<unknown[]>; mayBegin(): boolean }[] = [];
  const time = { now: 0 };
  /** Of each batch, as the metrics get them. */
  const failures: EndedBatch['failures'][] = [];
  const commits = groupCommit<number>(
    (commands, mayBegin) => {
      const end = Promise.withResolvers<unknown[]>();
      batches.push({ commands, end, mayBegin });
      return end.promise;
    },
    { ...rules, batchEnded: (batch) => void failures.push(batch.failures) },
    () => time.now,
  );
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { batches, commits, time, turn, failures };
}

const code = (wanted: number) => (error: unknown) => error instanceof AppError && error.code === wanted;

test('commands that arrive during a commit are committed together, in order', async () => {
  const { batches, commits, turn } = steered();
  const first = commits.submit(1, 1);
  await turn();
  const rest = [2, 3, 4].map((command) => commits.submit(command, 1));
  batches[0]?.end.resolve([1]);
  assert.equal(await first, 1);
  assert.deepEqual(batches[1]?.commands, [2, 3, 4]);
  batches[1]?.end.resolve([2, 3, 4]);
  assert.deepEqual(await Promise.all(rest), [2, 3, 4]);
});

test('after a batch of many commands, the next one includes the requests that its answers trigger', async () => {
  const { batches, commits, turn } = steered({ gathering: { many: 2, pauseMs: 1 } });
  const first = [1, 2].map((command) => commits.submit(command, 1));
  await turn();
  const waiting = commits.submit(3, 1);
  batches[0]?.end.resolve([1, 2]);
  await Promise.all(first);
  const joining = commits.submit(4, 1);
  assert.equal(batches.length, 1);
  while (batches.length < 2) await turn();
  assert.deepEqual(batches[1]?.commands, [3, 4]);
  batches[1]?.end.resolve([3, 4]);
  assert.deepEqual(await Promise.all([waiting, joining]), [3, 4]);
  await commits.close();
});

test('a failed commit fails only its own commands', async () => {
  const { batches, commits, turn } = steered();
  const first = commits.submit(1, 1);
  await turn();
  const second = commits.submit(2, 1);
  batches[0]?.end.reject(new AppError(50302));
  await assert.rejects(first, code(50302));
  batches[1]?.end.resolve([2]);
  assert.equal(await second, 2);
});

test('past the count of the queue the answer is 50300 with Retry-After', async () => {
  const { commits } = steered();
  for (let n = 0; n < writes.queuedCommands; n++) {
    assert.equal(commits.isFull(), false);
    commits.submit(n, 1);
  }
  assert.equal(commits.isFull(), true);
  await assert.rejects(commits.submit(0, 1), (error: AppError) => {
    return error.code === 50300 && error.headers['retry-after'] === '1';
  });
});

test('past the bytes of the queue the answer is 50300', async () => {
  const { commits } = steered();
  commits.submit(1, writes.queuedBytes);
  await assert.rejects(commits.submit(2, 1), code(50300));
});

test('past the age of the oldest command the answer is 50300', async () => {
  const { commits, time, turn } = steered();
  commits.submit(1, 1);
  await turn();
  commits.submit(2, 1);
  time.now += writes.queueAgeMs;
  commits.submit(3, 1);
  time.now += 1;
  await assert.rejects(commits.submit(4, 1), code(50300));
});

test('a command that waited long is dropped if its client has left', async () => {
  const { batches, commits, time, turn } = steered();
  commits.submit(1, 1);
  await turn();
  const left = { hasLeft: () => true };
  const deserted = commits.submit(2, writes.queuedBytes - 10, left);
  const refused = assert.rejects(deserted, code(50300));
  const waited = commits.submit(3, 1, { hasLeft: () => false });
  time.now += writes.desertedMs + 1;
  // A client that half-closed recently may still be there.
  const young = commits.submit(4, 1, left);
  batches[0]?.end.resolve([1]);
  await refused;
  assert.deepEqual(batches[1]?.commands, [3, 4]);
  batches[1]?.end.resolve([3, 4]);
  assert.deepEqual(await Promise.all([waited, young]), [3, 4]);
});

test('dropped commands make room for others', async () => {
  const { batches, commits, time, turn } = steered();
  commits.submit(1, 1);
  await turn();
  const deserted = commits.submit(2, writes.queuedBytes, { hasLeft: () => true });
  const refused = assert.rejects(deserted, code(50300));
  await assert.rejects(commits.submit(3, 1), code(50300));
  time.now += writes.desertedMs + 1;
  batches[0]?.end.resolve([1]);
  await refused;
  const next = commits.submit(4, 1);
  await turn();
  assert.deepEqual(batches[1]?.commands, [4]);
  batches[1]?.end.resolve([4]);
  assert.equal(await next, 4);
});

test('a queue longer than a batch counts only what is left in it', async () => {
  const { batches, commits, time, turn } = steered();
  const half = writes.queuedBytes / 2;
  commits.submit(0, half);
  for (let n = 1; n < writes.batchCommands; n++) commits.submit(n, 1);
  await turn();
  for (let round = 0; round < 4; round++) {
    // A full batch, plus one that is left over each time.
    for (let n = 0; n <= writes.batchCommands; n++) commits.submit(n, half / writes.batchCommands / 2);
    time.now += writes.queueAgeMs / 2;
    const batch = batches[round];
    batch?.end.resolve(batch.commands);
    await turn();
  }
  const last = commits.submit(7, 1);
  assert.equal(batches[4]?.commands.length, writes.batchCommands);
  batches[4]?.end.resolve(batches[4].commands);
  await turn();
  batches[5]?.end.resolve(batches[5].commands);
  assert.equal(await last, 7);
});

const PATIENCE = { beginMs: 20, answerMs: 50, checkMs: 1 };

test('incompatible commands are committed separately, in order', async () => {
  const { batches, commits, turn } = steered({ goTogether: (before, next) => before % 2 === next % 2 });
  const all = [1, 3, 2, 4, 6, 5].map((command) => commits.submit(command, 1));
  for (let n = 0; n < 3; n++) {
    await turn();
    const batch = batches[n];
    batch?.end.resolve(batch.commands);
  }
  assert.deepEqual(await Promise.all(all), [1, 3, 2, 4, 6, 5]);
  assert.deepEqual(
    batches.map(({ commands }) => commands),
    [[1, 3], [2, 4, 6], [5]],
  );
});

test('a command that waits too long after a batch is answered 50302, and not carried out', async () => {
  const { batches, commits, time, turn, failures } = steered({ patience: PATIENCE });
  const first = commits.submit(1, 1);
  await turn();
  assert.equal(batches[0]?.mayBegin(), true);
  const late = commits.submit(2, 1);
  time.now += 21;
  const young = commits.submit(3, 1);
  await assert.rejects(late, code(50302));
  batches[0]?.end.resolve([1]);
  assert.equal(await first, 1);
  assert.deepEqual(batches[1]?.commands, [3]);
  batches[1]?.end.resolve([3]);
  assert.equal(await young, 3);
  assert.deepEqual(failures, [[50302], []]);
});

test('a batch that cannot start in time is answered 50302, and no longer starts', async () => {
  const { batches, commits, time, turn, failures } = steered({ patience: PATIENCE });
  const old = commits.submit(1, 1);
  time.now += 20;
  const young = commits.submit(2, 1);
  await turn();
  time.now += 1;
  await Promise.all([assert.rejects(old, code(50302)), assert.rejects(young, code(50302))]);
  assert.equal(batches[0]?.mayBegin(), false);
  batches[0]?.end.reject(new AppError(50302));
  await commits.close();
  assert.deepEqual(failures, [[50302, 50302]]);
});

test('commands that started but do not end in time are answered 50301, each at its own deadline', async () => {
  const { batches, commits, time, turn, failures } = steered({ patience: PATIENCE });
  const old = commits.submit(1, 1);
  time.now += 10;
  const young = commits.submit(2, 1);
  await turn();
  assert.equal(batches[0]?.mayBegin(), true);
  time.now = 51;
  await assert.rejects(old, code(50301));
  // Another attempt of the same transaction.
  assert.equal(batches[0]?.mayBegin(), true);
  batches[0]?.end.resolve([1, 2]);
  assert.equal(await young, 2);
  assert.deepEqual(failures, [[50301]]);
});

test('after a batch that outlasts its callers, batches are half as large until one is quick', async () => {
  const { batches, commits, time, turn } = steered({
    patience: { beginMs: 2000, answerMs: 4500, checkMs: 1 },
  });
  const late = Array.from({ length: 8 }, (_, n) => assert.rejects(commits.submit(n, 1), code(50301)));
  await turn();
  batches[0]?.mayBegin();
  time.now += 4501;
  await Promise.all(late);
  const rest = Array.from({ length: 20 }, (_, n) => commits.submit(n, 1));
  for (const tookMs of [0, writes.quickBatchMs, 0, 0, 0]) {
    time.now += tookMs;
    const batch = batches.at(-1);
    batch?.end.resolve(batch.commands);
    await turn();
  }
  await Promise.all(rest);
  assert.deepEqual(
    batches.map(({ commands }) => commands.length),
    [8, 4, 4, 8, 4],
  );
});

test('closing commits what is queued and refuses later commands with 50303', async () => {
  const { batches, commits, turn } = steered();
  const queued = commits.submit(1, 1);
  const closed = commits.close();
  await assert.rejects(commits.submit(2, 1), code(50303));
  await turn();
  batches[0]?.end.resolve([1]);
  await closed;
  assert.equal(await queued, 1);
});

test('metrics get each batch: its size, waiting time, duration and failures', async () => {
  const told: EndedBatch[] = [];
  const time = { now: 1000 };
  const commits = groupCommit<number>(
    async ([first]) => [first, new AppError(40900)],
    { batchEnded: (batch) => void told.push(batch) },
    () => time.now,
  );
  const both = [commits.submit(1, 1), commits.submit(2, 1)];
  time.now = 1200;
  assert.deepEqual(commits.waiting(), { commands: 2, ageMs: 200 });
  await Promise.allSettled(both);
  assert.deepEqual(
    told.map(({ commands, waitMs, failures }) => ({ commands, waitMs, failures })),
    [{ commands: 2, waitMs: 200, failures: [40900] }],
  );
  assert.ok((told[0]?.commitMs ?? -1) >= 0);
  assert.deepEqual(commits.waiting(), { commands: 0, ageMs: 0 });
});

test('in a batch that fails as a whole, each command counts as failed', async () => {
  const told: EndedBatch[] = [];
  const commits = groupCommit<number>(() => Promise.reject(new AppError(50302)), {
    batchEnded: (batch) => void told.push(batch),
  });
  await Promise.allSettled([commits.submit(1, 1), commits.submit(2, 1)]);
  assert.deepEqual(told[0]?.failures, [50302, 50302]);
});

test('setting the clock back makes no queue wait negative', async () => {
  const told: EndedBatch[] = [];
  const time = { now: 3_600_000 };
  const store = await openSqliteStore({
    path: ':memory:',
    writer: 'inline',
    clock: { now: () => time.now },
    measures: { ...createCounts().measures, batchEnded: (_, batch) => void told.push(batch) },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  const done = store.plants.delete(1, 1n);
  time.now = 0;
  const [reading] = store.readings.queues();
  await done;
  assert.ok((reading?.ageMs ?? -1) >= 0 && (told[0]?.waitMs ?? -1) >= 0);
  await store.close();
});

test('setting the clock forward refuses no write', async () => {
  const time = { now: 0 };
  const store = await openSqliteStore({
    path: ':memory:',
    writer: 'inline',
    clock: { now: () => time.now },
    deliveryDelayMs: 0,
    onFatal: assert.ifError,
  });
  const deletions = [store.plants.delete(1, 1n)];
  time.now += 2 * writes.queueAgeMs;
  deletions.push(store.plants.delete(1, 2n));
  await Promise.all(deletions);
  await store.close();
});
