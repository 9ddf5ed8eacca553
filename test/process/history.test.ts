import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { check } from '../../bench/cluster/history/check.ts';
import { type Entry, readHistory } from '../../bench/cluster/history/history.ts';
import { type Step, unexplained } from '../../bench/cluster/history/register.ts';
import { type Seeded, seedViolations } from '../../bench/cluster/history/seed-violations.ts';
import { startWorkload } from '../../bench/cluster/history/workload.ts';
import { access as accessLimits } from '../../src/limits.ts';
import { seededRandom, testSeed } from '../../testkit/random/seeded.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import { startService } from '../../testkit/service/service.ts';

/** Requests of the first run: usually so many that each violation has a place in the history. */
const ENOUGH = 600;
const MOST = 4 * ENOUGH;
/** For the most requests, on a busy machine. */
const PATIENCE_MS = 60_000;

test('the checker of histories finds nothing in a healthy run, and each violation seeded into it', async (t) => {
  const limits = { graceMs: 0, mayRepeat: false };
  let seeded: Seeded[] | undefined;
  for (let requests = ENOUGH; seeded === undefined; requests *= 2) {
    const history = await runHealthy(t, requests);
    assert.deepEqual(check(history, limits).findings, []);
    try {
      seeded = seedViolations(history, limits);
    } catch (error) {
      // A few violations fit in few places, and how requests overlap is up to the machine.
      if (requests >= MOST) throw error;
    }
  }
  const missed = seeded.filter(({ isFound }) => !isFound);
  assert.deepEqual(missed, []);
});

/** The history of a service of its own. */
async function runHealthy(t: TestContext, requests: number): Promise<Entry[]> {
  const service = await startService({
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_RETRY_SCHEDULE: '0s,100ms,1s',
  });
  t.after(service.stop);
  const out = join(service.dataDir, 'history.jsonl');
  const between = { owner: 'admin', viewer: 'viewer' };
  const token = await service.tokenFor(between.viewer);
  const share = (isShared: boolean) =>
    service.beside(async ({ store: { access }, runtime }) => {
      const at = runtime.clock.now();
      if (isShared) await access.addShare({ ...between, at }, accessLimits.sharesPerUser);
      else await access.removeShare(between);
    });
  const workload = await startWorkload({
    urls: [service.url, service.url],
    token: service.token,
    viewer: { token, share },
    out,
    seed: testSeed,
    rate: 1_000,
    graceMs: 0,
  });
  await eventually('end of the requests', async () => workload.count() >= requests || undefined, PATIENCE_MS);
  await workload.stop();
  return readHistory(out);
}
test('whatever one id can hold is explained, with overlapping requests and unknown outcomes', () => {
  const random = seededRandom(testSeed);
  for (let round = 0; round < 500; round++) {
    const steps = storyOfAnId(random);
    assert.equal(unexplained(steps), undefined, JSON.stringify(steps));
  }
});

/** Each step takes effect at its number, somewhere between its begin and its end. */
function storyOfAnId(random: () => number): Step[] {
  let held: string | undefined;
  return Array.from({ length: 30 }, (_, op) => {
    const [which, saw] = [random(), held];
    const times = { op, begin: op - 6 * random(), end: op + 6 * random() };
    const looks = { ...times, says: `saw ${saw}`, accepts: (now: string | undefined) => now === saw };
    if (which < 0.3 && saw === undefined) held = `plant ${op}`;
    else if (which > 0.7 && saw !== undefined) held = undefined;
    else if (which > 0.9)
      return {
        ...looks,
        says: 'did nothing',
        end: Infinity,
        accepts: (now) => now !== undefined,
        leaves: { held: undefined },
      };
    else return looks;
    const isUnknown = held === undefined && random() < 0.3;
    const end = isUnknown ? Infinity : times.end;
    return { ...looks, end, accepts: (now) => (now === undefined) === (saw === undefined), leaves: { held } };
  });
}
