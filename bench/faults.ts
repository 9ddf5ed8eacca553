import { parseArgs } from 'node:util';
import { seededRandom } from '../testkit/random/seeded.ts';
import { createDiskFaults, whyNoFaults } from './faults/disk-faults.ts';
import { loseStore, ways } from './faults/lost.ts';
import { plansOf, runPlan } from './faults/running.ts';
import { table } from './measure/report.ts';
import { temporaryFolder } from './servers/cleanup.ts';

/**
 * `node bench/faults.ts running`: makes file calls of the running service fail under load, lifts the fault, restarts
 * the service if it ended, and compares every answer with the store. `node bench/faults.ts lost`: deletes, moves,
 * replaces, cuts and empties stores. Exit code 1 when anything is wrong.
 */

const USAGE = `Usage: node bench/faults.ts <running|lost> [--only REGEX] [--calls 60] [--clients 16] [--seed N] [--help]

  --only   faults whose name matches, such as "fsync EIO"
  --calls  each fault strikes at the 1st to this call; faults that stay, and rare ones, at a third of them
`;

const SHOWN_VIOLATIONS = 5;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: 'string', default: '.' },
      calls: { type: 'string', default: '60' },
      clients: { type: 'string', default: '16' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  const [calls, clients, seed] = [values.calls, values.clients, values.seed].map(Number);
  const programs: Readonly<Record<string, Program>> = { running, lost };
  const program = programs[positionals[0] ?? ''];
  if (values.help || !program || !calls || !clients || seed === undefined) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  const { path: folder } = temporaryFolder();
  const only = new RegExp(values.only);
  const { head, rows } = await program({ folder, only, calls, clients, random: seededRandom(seed) });
  process.stdout.write(
    `${table(
      head,
      rows.map(({ cells }) => cells),
    )}\n${violationsOf(rows)}`,
  );
  return rows.every(({ violations }) => violations.length === 0) ? 0 : 1;
}

type Options = { folder: string; only: RegExp; calls: number; clients: number; random: () => number };
type Row = { cells: string[]; violations: string[] };
type Program = (options: Options) => Promise<{ head: string[]; rows: Row[] }>;

async function running({ folder, only, calls, clients, random }: Options) {
  const reason = whyNoFaults();
  if (reason !== undefined) throw new Error(reason);
  const faults = createDiskFaults(folder);
  const rows: Row[] = [];
  for (const plan of plansOf(calls).filter(({ name }) => only.test(name))) {
    const result = await runPlan(plan, { folder, faults, random, clients });
    const { name, cases, hit, ends, backMs, violations } = result;
    const answers = [...result.answers].map(([code, times]) => `${times} × ${code}`).join(', ');
    rows.push(
      told({ cells: [name, ...[cases, hit, ends, Math.round(backMs)].map(String), answers], violations }),
    );
  }
  return { head: ['fault', 'cases', 'hit', 'ends', 'back ms', 'answers other than 201'], rows };
}

async function lost({ folder, only, random }: Options) {
  const rows: Row[] = [];
  for (const when of ['running', 'idle', 'before a start'] as const) {
    for (const way of ways.filter(({ name }) => only.test(`${name}, ${when}`))) {
      const found = await loseStore({ folder, random, way, when });
      const { acknowledged, lost, said, violations } = found;
      const cells = [found.way, `${acknowledged}`, `${lost}`, said.replaceAll(folder, '…')];
      rows.push(told({ cells, violations }));
    }
  }
  return { head: ['way', 'acknowledged', 'lost', 'what the service says'], rows };
}

function told(row: Row): Row {
  process.stderr.write(`${row.cells.join(' | ')}\n${violationsOf([row])}`);
  return row;
}

function violationsOf(rows: Row[]): string {
  const all = rows.flatMap(({ cells, violations }) =>
    violations.slice(0, SHOWN_VIOLATIONS).map((violation) => `- ${cells[0]}: ${violation}\n`),
  );
  return all.join('');
}
