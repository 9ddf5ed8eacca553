import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../testkit/random/seeded.ts';
import { asText } from './crash/result.ts';
import type { Findings, Plan } from './postgres/findings.ts';
import { keepLogs } from './postgres/replica.ts';

/**
 * `node bench/postgres.ts <program>`: replicas of the service on real PostgreSQL servers, with a fault. Prints what
 * must hold and whether it does. Exit code 1 when anything is wrong.
 */

const USAGE = `Usage: node bench/postgres.ts <program> [--rounds N] [--seed N] [--quick] [--before <folder>] [--help]

  kill      two replicas, one of which is killed, 100 times
  backends  a connection of the service loses its server process under load, 24 times
  clocks    the clock of one of two replicas is 10 minutes ahead, then behind; a round is a second of load
  lanes     10 000 lanes, and three replicas: one is stopped, one is added, once; who sends for how many
  failover  the primary is killed, its synchronous standby promoted, 10 times
  cuts      the network fails around 1000 commits
  rolling   three replicas behind HAProxy are restarted in turn during 100 000 requests; a round has 1000
  ids       16 clients create, delete and lose answers, on three replicas and on an embedded store, against a model
  revoke    a token is revoked, and asked for at three replicas, 10 times
  update    three replicas of the version before (--before) are replaced one after the other, once
  standby   commits while the synchronous standby is gone, 3 times

  --rounds  how often, instead of the number above
  --before  a folder with another version of the program (git worktree), installed and built
  --quick   a tenth of it, or once, and nothing that takes long: to see that it runs
`;

type Program = { run(plan: Plan): Promise<Findings>; rounds: number };

const programs: Record<string, () => Promise<Program>> = {
  backends: async () => ({ run: (await import('./postgres/backends.ts')).backends, rounds: 24 }),
  clocks: async () => ({ run: (await import('./postgres/clocks.ts')).clocks, rounds: 30 }),
  lanes: async () => ({ run: (await import('./postgres/lanes.ts')).lanes, rounds: 1 }),
  kill: async () => ({ run: (await import('./postgres/kill.ts')).kill, rounds: 100 }),
  failover: async () => ({ run: (await import('./postgres/failover.ts')).failover, rounds: 10 }),
  cuts: async () => ({ run: (await import('./postgres/cuts.ts')).cuts, rounds: 1_000 }),
  rolling: async () => ({ run: (await import('./postgres/rolling.ts')).rolling, rounds: 100 }),
  ids: async () => ({ run: (await import('./postgres/ids.ts')).ids, rounds: 100_000 }),
  revoke: async () => ({ run: (await import('./postgres/revoke.ts')).revoke, rounds: 10 }),
  update: async () => ({ run: (await import('./postgres/update.ts')).update, rounds: 1 }),
  standby: async () => ({ run: (await import('./postgres/standby.ts')).standbyGone, rounds: 3 }),
};

process.exit(await main());

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      rounds: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      quick: { type: 'boolean', default: false },
      before: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const load = programs[positionals[0] ?? ''];
  const [rounds, seed] = [Number(values.rounds ?? 1), Number(values.seed)];
  if (values.help || !load || !(rounds >= 1) || Number.isNaN(seed)) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  const program = await load();
  const usual = values.quick ? Math.ceil(program.rounds / 10) : program.rounds;
  process.stderr.write(`seed ${seed}\n`);
  return report(program, {
    rounds: values.rounds === undefined ? usual : rounds,
    random: seededRandom(seed),
    isQuick: values.quick,
    before: values.before && resolve(values.before),
  });
}

async function report({ run }: Program, plan: Plan): Promise<number> {
  const start = performance.now();
  const { checks, notes } = await run(plan);
  const seconds = `${((performance.now() - start) / 1000).toFixed(0)} s in all`;
  process.stdout.write(`${asText(checks)}\n\n${[...notes, seconds].map((note) => `- ${note}`).join('\n')}\n`);
  const isSound = checks.every(({ violations }) => violations.length === 0);
  if (!isSound) process.stderr.write(`The logs of the replicas are kept in ${keepLogs()}\n`);
  return isSound ? 0 : 1;
}
