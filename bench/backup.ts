import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { storePath } from '../src/config/config.ts';
import { PROGRAM } from '../testkit/processes/executable.ts';
import { startCreates } from './backup/load.ts';
import { violationsIn } from './backup/verify.ts';
import { table } from './measure/report.ts';
import { temporaryFolder } from './servers/cleanup.ts';
import type { Server } from './servers/server.ts';
import { startService } from './servers/service.ts';
import { filledStore } from './stores/fill.ts';

/**
 * `node bench/backup.ts`: backs up a store while clients create plants at full speed, restores the backup elsewhere,
 * and compares it with the acknowledged plants. Exit code 1 when anything is wrong.
 */

const USAGE = `Usage: node bench/backup.ts [--rounds 5] [--plants 1000000] [--clients 32] [--help]\n`;
const MIB = 1024 * 1024;
/** How long clients create plants before each backup, for comparison. */
const BEFORE_MS = 3_000;
const LOOK_MS = 10;

const HEAD = [
  'round',
  'plants',
  'MiB',
  'backup s',
  'restore s',
  'creates meanwhile',
  'p99 ms before/during',
  'longest ms before/during',
  'log MiB before/during',
  'wrong',
];

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      plants: { type: 'string', default: '1000000' },
      clients: { type: 'string', default: '32' },
      help: { type: 'boolean', default: false },
    },
  });
  const [rounds, plants, clients] = [values.rounds, values.plants, values.clients].map(Number);
  if (values.help || !rounds || !plants || !clients) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  const { path: folder } = temporaryFolder();
  const dataDir = await filledStore(folder, plants);
  const service = await startService({ dataDir });
  const made: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    made.push(await runRound({ folder, dataDir, service, clients, filled: plants, round }));
    process.stderr.write(`round ${round + 1}: ${made.at(-1)?.violations.join('; ') || 'as it must be'}\n`);
  }
  await service.stop();
  process.stdout.write(`${table(HEAD, made.map(rowOf))}\n`);
  return made.every(({ violations }) => violations.length === 0) ? 0 : 1;
}

type RoundOptions = {
  folder: string;
  dataDir: string;
  service: Server;
  clients: number;
  filled: number;
  round: number;
};

type Round = {
  plants: number;
  bytes: number;
  backupSeconds: number;
  restoreSeconds: number;
  /** Creates acknowledged during the backup. */
  meanwhile: number;
  p99: { before: number; during: number };
  most: { before: number; during: number };
  logBytes: { before: number; during: number };
  violations: string[];
};

async function runRound({ folder, dataDir, service, clients, filled, round }: RoundOptions): Promise<Round> {
  const load = startCreates(service, clients, round);
  const quiet = load.measure();
  await sleep(BEFORE_MS);
  const log = `${storePath(dataDir)}-wal`;
  const logBefore = statSync(log).size;
  let logBytes = logBefore;
  const watch = setInterval(() => {
    logBytes = Math.max(logBytes, statSync(log).size);
  }, LOOK_MS);

  const file = join(folder, 'plants.backup');
  const before = load.acknowledged.map((own) => own.length);
  const countBefore = load.count();
  const busy = load.measure();
  const made = await run('backup', file, '--force', '--json', '--data-dir', dataDir);
  const meanwhile = load.count() - countBefore;
  load.measure();
  clearInterval(watch);
  await load.stop();

  const target = join(folder, 'restored');
  const startedAt = performance.now();
  await run('restore', file, '--json', '--data-dir', target);
  const restoreSeconds = (performance.now() - startedAt) / 1000;
  const violations = violationsIn(storePath(target), { filled, before, acknowledged: load.acknowledged });
  rmSync(target, { recursive: true });
  return {
    plants: made.plants,
    bytes: made.bytes,
    backupSeconds: made.seconds,
    restoreSeconds,
    meanwhile,
    p99: { before: quiet.percentile(99), during: busy.percentile(99) },
    most: { before: quiet.percentile(100), during: busy.percentile(100) },
    logBytes: { before: logBefore, during: logBytes },
    violations,
  };
}

async function run(...args: string[]): Promise<{ plants: number; bytes: number; seconds: number }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}`);
  return JSON.parse(output);
}

function rowOf(round: Round, index: number): string[] {
  const { plants, bytes, backupSeconds, restoreSeconds, meanwhile, p99, most, logBytes, violations } = round;
  const both = ({ before, during }: { before: number; during: number }, unit = 1) =>
    `${(before / unit).toFixed(1)} / ${(during / unit).toFixed(1)}`;
  return [
    String(index + 1),
    String(plants),
    (bytes / MIB).toFixed(1),
    backupSeconds.toFixed(2),
    restoreSeconds.toFixed(2),
    String(meanwhile),
    both(p99),
    both(most),
    both(logBytes, MIB),
    String(violations.length),
  ];
}
