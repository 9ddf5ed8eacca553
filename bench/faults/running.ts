import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Check } from '../crash/check.ts';
import { monotonicMs } from '../measure/clock.ts';
import type { DiskFaults, Fault } from './disk-faults.ts';
import { openTrial, type Trial } from './trial.ts';

/** Faults in the Nth file call of the service while it creates and lists under load. */

export type Plan = Fault & {
  name: string;
  /** The calls to hit, one case each. */
  calls: number;
  /** How long a persistent fault lasts. */
  holdMs?: number;
  /** How long to wait for the call. */
  comesMs?: number;
};

export type PlanResult = {
  name: string;
  cases: number;
  /** Cases whose call happened. */
  hit: number;
  /** How often the process ended by itself. */
  ends: number;
  /**
   * The longest time from the end of the fault to the first 201, including the start of the process if it had ended.
   */
  backMs: number;
  answers: Map<number | 'lost', number>;
  violations: string[];
};

const FOREVER = 2 ** 31;

/** Every op with every error, once and persistently; and the other faults of a write, a flush or a read. */
export function plansOf(most: number): Plan[] {
  const errors = ['EIO', 'ENOSPC', 'EDQUOT', 'EROFS'] as const;
  const some = Math.ceil(most / 3);
  const [on, late] = [{ count: FOREVER }, { action: 'delay', delayMs: 2_000 } as const];
  const torn = { op: 'write', action: 'shortThenError', ...on } as const;
  const checkpoint = { op: 'write', file: 'database', comesMs: 10_000 } as const;
  return [
    ...(['write', 'fsync', 'read'] as const).flatMap((op) =>
      errors.flatMap((error) => [
        { name: `${op} ${error} once`, op, error, calls: most },
        { name: `${op} ${error} on`, op, error, calls: some, ...on },
      ]),
    ),
    { name: 'write short once', op: 'write', action: 'short', calls: most },
    { name: 'write short, then ENOSPC on', ...torn, error: 'ENOSPC', calls: most },
    { name: 'write short, then EDQUOT on', ...torn, error: 'EDQUOT', calls: some },
    { name: 'write done, but EIO once', op: 'write', action: 'doneButError', calls: most },
    { name: 'fsync done, but EIO once', op: 'fsync', action: 'doneButError', calls: some },
    { name: 'read short once', op: 'read', action: 'short', calls: most },
    { name: 'checkpoint write EIO once', ...checkpoint, calls: some },
    { name: 'checkpoint write ENOSPC on', ...checkpoint, ...on, error: 'ENOSPC', calls: some, holdMs: 1_000 },
    { name: 'checkpoint fsync EIO once', ...checkpoint, op: 'fsync', calls: 3 },
    { name: 'fsync 2 s late once', op: 'fsync', ...late, calls: 2, holdMs: 2_500 },
  ];
}

export type RunOptions = { folder: string; faults: DiskFaults; random: () => number; clients: number };

/** A separate store for each plan, compared at the end with all answers. */
export async function runPlan(
  plan: Plan,
  { folder, faults, random, clients }: RunOptions,
): Promise<PlanResult> {
  const dataDir = join(folder, plan.name.replaceAll(/\W+/g, '-'));
  faults.disarm();
  const trial = await openTrial({ dataDir, random, faults });
  const { ledger } = trial;
  const result: PlanResult = {
    ...{ name: plan.name, cases: 0, hit: 0, ends: 0, backMs: 0 },
    ...{ answers: ledger.failures, violations: [] },
  };
  try {
    for (let nth = 1; nth <= plan.calls; nth++) {
      await runCase({ ...plan, nth }, { trial, faults, random, clients, result });
      result.violations.push(...ledger.violations.splice(0).map((violation) => `N=${nth}: ${violation}`));
    }
    result.violations.push(...(await trial.settle()).flatMap(asViolations));
  } catch (error) {
    result.violations.push(...ledger.violations.splice(0), `it broke off: ${error}`);
  } finally {
    faults.disarm();
    await trial.close();
  }
  return result;
}

type CaseParts = Omit<RunOptions, 'folder'> & { trial: Trial; result: PlanResult };

const USUAL_HOLD_MS = 200;
/** Some calls may never happen, such as a read of cached data. */
const USUALLY_COMES_MS = 1_500;
/** The latest recovery: the target is a second, on an otherwise idle machine. */
const BACK_MS = 20_000;

async function runCase(plan: Plan & { nth: number }, parts: CaseParts): Promise<void> {
  const { trial, faults, random, clients, result } = parts;
  let hasEnded = false;
  const server = trial.running() ?? (await trial.mustStart());
  void server.ended.then(() => {
    hasEnded = true;
  });
  const load = trial.load(clients);
  await sleep(40 + random() * 40);
  const from = monotonicMs();
  faults.arm(plan);
  await until(() => faults.fired() > 0 || hasEnded, plan.comesMs ?? USUALLY_COMES_MS);
  result.cases++;
  if (faults.fired() > 0) result.hit++;
  await until(() => hasEnded, plan.holdMs ?? USUAL_HOLD_MS);
  faults.disarm();
  const lifted = monotonicMs();
  // Like a supervisor; the process may still be about to end.
  const isBack = await until(async () => {
    if (hasEnded && !trial.running()) await trial.start();
    return trial.create();
  }, BACK_MS);
  if (isBack) result.backMs = Math.max(result.backMs, monotonicMs() - lifted);
  else trial.ledger.violations.push('the service is not back');
  trial.outages.push({ from, to: monotonicMs() });
  await load.stop();
  if (hasEnded) {
    result.ends++;
    const { code, stderr } = await server.ended;
    if (code !== 1 || /\n\s+at /.test(stderr)) trial.ledger.violations.push(`ended with ${code}: ${stderr}`);
  }
  // Data that is only in the log must be found again, too.
  if (plan.nth % 5 === 0) await trial.running()?.kill();
  await trial.retry();
}

async function until(holds: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (performance.now() < end) {
    if (await holds()) return true;
    await sleep(5);
  }
  return false;
}

function asViolations({ name, violations }: Check): string[] {
  return violations.map((violation) => `${name}: ${violation}`);
}
