import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { table } from '../../measure/report.ts';
import { check } from './check.ts';
import { readHistory } from './history.ts';
import { seedViolations } from './seed-violations.ts';
import { startServices } from './services.ts';
import { startWorkload } from './workload.ts';

/** Records the history of a run, and checks one. Exit code 1 when anything is wrong. */

const USAGE = `Usage: node bench/cluster/history/main.ts --record FILE [--store sqlite|postgres] [--seconds 20] [--rate 100] [--seed N]
       node bench/cluster/history/main.ts --record FILE --url URL [--url URL ...] --token TOKEN [--receiver URL] ...
       node bench/cluster/history/main.ts --check FILE [--grace-ms 5000] [--no-repeats]
       node bench/cluster/history/main.ts --prove FILE [--grace-ms 5000]

  --record   sends requests for a while, or until Ctrl+C, and writes what happened; without --url to services that
             it starts: one with SQLite under two URLs, or two replicas on PostgreSQL
  --check    looks for violations in a history; deliveries may repeat unless --no-repeats is given
  --prove    seeds each kind of violation into the history of a healthy run, and shows which are found
`;

process.exitCode = await main();

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      ...{ record: text, check: text, prove: text, store: text, token: text, receiver: text },
      url: { type: 'string', multiple: true },
      seconds: { type: 'string', default: '20' },
      rate: { type: 'string', default: '100' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      'grace-ms': { type: 'string', default: '5000' },
      'no-repeats': { type: 'boolean', default: false },
    },
  });
  const limits = { graceMs: Number(values['grace-ms']), mayRepeat: !values['no-repeats'] };
  if (values.check !== undefined) return report(values.check, limits);
  if (values.prove !== undefined) return prove(values.prove, limits);
  const [seconds, rate, seed] = [values.seconds, values.rate, values.seed].map(Number);
  if (values.record === undefined || !seconds || !rate || seed === undefined) {
    process.stdout.write(USAGE);
    return 2;
  }
  const { record: out, url: urls, token = '', receiver, store } = values;
  const services = urls ? undefined : await startServices(store === 'postgres' ? 'postgres' : 'sqlite');
  const given = { urls: urls ?? [], token, ...(receiver ? { receiverUrl: receiver } : {}) };
  const { stop: _, ...started } = services ?? {};
  process.stderr.write(`seed ${seed}\n`);
  const workload = await startWorkload({ ...given, ...started, out, seed, rate, graceMs: limits.graceMs });
  await Promise.race([sleep(seconds * 1_000), once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  await workload.stop();
  await services?.stop();
  return report(out, limits);
}

type Limits = { graceMs: number; mayRepeat: boolean };

function report(file: string, limits: Limits): number {
  const start = performance.now();
  const { findings, counts } = check(readHistory(file), limits);
  const rows = Object.entries(counts).map(([name, count]) => [name, String(count)]);
  const lines = findings.map(({ rule, detail }) => `- ${rule}: ${detail}\n`);
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  process.stdout.write(
    `${table(['', 'seen'], rows)}\n${lines.join('')}${findings.length} findings in ${seconds} s\n`,
  );
  return findings.length === 0 ? 0 : 1;
}

function prove(file: string, limits: Limits): number {
  const history = readHistory(file);
  const healthy = check(history, { ...limits, mayRepeat: false }).findings;
  const seeded = seedViolations(history, limits);
  const rows = seeded.map(({ name, rule, isFound }) => [name, rule, isFound ? 'found' : 'MISSED']);
  const found = seeded.filter(({ isFound }) => isFound).length;
  process.stdout.write(`${table(['violation', 'rule', ''], rows)}\n`);
  process.stdout.write(`${found} of ${seeded.length} found; ${healthy.length} in the unchanged history\n`);
  return found === seeded.length && healthy.length === 0 ? 0 : 1;
}
