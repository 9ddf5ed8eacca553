import { parseArgs } from 'node:util';
import { seededRandom } from './crash/random.ts';
import { createDiskFaults, whyNoFaults } from './faults/disk-faults.ts';
import { type PlanResult, plansOf, runPlan } from './faults/running.ts';
import { temporaryFolder } from './harness/cleanup.ts';
import { table } from './harness/report.ts';

/**
 * `node bench/faults.ts`: makes file calls of the running service fail under load, lifts the fault, starts the service again
 * if it ended, and compares every answer with what the store holds. Exit code 1 when anything is wrong.
 */

const USAGE = `Usage: node bench/faults.ts [--only REGEX] [--calls 60] [--clients 16] [--seed N] [--help]

  --only   plans whose name matches, such as "fsync EIO"
  --calls  each fault strikes at the 1st to this call; faults that stay, and rare ones, at a third of them
`;

const HEAD = ['fault', 'cases', 'hit', 'ends', 'back ms', 'answers', 'wrong'];
const SHOWN_VIOLATIONS = 5;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '.' },
      calls: { type: 'string', default: '60' },
      clients: { type: 'string', default: '16' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  const [calls, clients, seed] = [values.calls, values.clients, values.seed].map(Number);
  const reason = whyNoFaults();
  if (values.help || !calls || !clients || seed === undefined || reason !== undefined) {
    process.stdout.write(reason === undefined ? USAGE : `${reason}\n`);
    return values.help ? 0 : 2;
  }
  const { path: folder } = temporaryFolder();
  const parts = { folder, faults: createDiskFaults(folder), random: seededRandom(seed), clients };
  const results: PlanResult[] = [];
  for (const plan of plansOf(calls).filter(({ name }) => new RegExp(values.only).test(name))) {
    const result = await runPlan(plan, parts);
    results.push(result);
    process.stderr.write(`${rowOf(result).join(' | ')}\n`);
  }
  process.stdout.write(`${table(HEAD, results.map(rowOf))}\n${violationsOf(results)}`);
  return results.every(({ violations }) => violations.length === 0) ? 0 : 1;
}

function rowOf({ name, cases, hit, ends, backMs, answers, violations }: PlanResult): string[] {
  const failures = [...answers].map(([code, times]) => `${times} × ${code}`).join(', ');
  return [name, `${cases}`, `${hit}`, `${ends}`, backMs.toFixed(0), failures, `${violations.length}`];
}

function violationsOf(results: PlanResult[]): string {
  const all = results.flatMap(({ name, violations }) =>
    violations.slice(0, SHOWN_VIOLATIONS).map((violation) => `- ${name}: ${violation}\n`),
  );
  return all.join('');
}
