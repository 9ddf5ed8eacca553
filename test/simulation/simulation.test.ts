import assert from 'node:assert/strict';
import { on } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { mutants } from './mutants.ts';
import { type Run, simulate } from './simulate.ts';
import { openReal } from './stores/real-stores.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** `npm run simulate` runs any number. */
const SEEDS = 500;

/** In a thread, since the test runner follows every promise of its own, which takes a quarter of the time. */
async function* runs(): AsyncGenerator<Run> {
  const thread = new Worker(new URL('./seeds.ts', import.meta.url), { workerData: SEEDS });
  try {
    // The thread sends nothing else.
    for await (const [run] of on(thread, 'message', { close: ['exit'] })) yield run as Run;
  } finally {
    await thread.terminate();
  }
}

const all = runs();
after(() => all.return(undefined));

/** In parts, each with the time of a test. */
const PART = 100;
for (let done = 0; done < SEEDS; done += PART) {
  test(`deliveries stay correct whatever owners, stores, receivers and users do, runs ${done + 1} to ${done + PART}`, async () => {
    const judged = { lanes: 0, asked: 0 };
    for (let n = 0; n < PART; n++) {
      const { value: run } = await all.next();
      assert.ok(run, 'every seed must be run');
      assert.deepEqual(run.failures, [], `npm run simulate -- --seeds 1 --seed ${run.seed} --trace`);
      judged.lanes += run.judged.lanes;
      judged.asked += run.judged.asked;
    }
    assert.ok(judged.lanes > 2_000, `lanes must often be able to continue: ${judged.lanes}`);
    assert.ok(judged.asked >= 80, `users must often wait for requested deliveries: ${judged.asked}`);
  });
}

test('the embedded store gives the same answers as the store in memory', async () => {
  for (const seed of [1, 3, 4]) {
    const real = await openReal('sqlite');
    const run = await simulate(seed, undefined, real).finally(real.close);
    assert.deepEqual(run.failures, [], `npm run simulate -- --store sqlite --seeds 1 --seed ${seed} --trace`);
  }
});

test('each mutant can be made: the text that it changes is in its file once', () => {
  for (const { breaks, file, from } of mutants)
    assert.equal(readFileSync(join(ROOT, file), 'utf8').split(from).length, 2, breaks);
});

test('a seed replays exactly', async () => {
  const traces = [];
  for (let n = 0; n < 2; n++) {
    const lines: string[] = [];
    await simulate(42, (line) => lines.push(line));
    traces.push(lines);
  }
  assert.ok((traces[0]?.length ?? 0) > 100);
  assert.deepEqual(traces[0], traces[1]);
});
