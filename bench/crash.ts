import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { storePath } from '../src/config.ts';
import { type ClientsOptions, retryUnknown, runClients } from './crash/clients.ts';
import { createLedger, type Ledger, type State } from './crash/ledger.ts';
import { seededRandom } from './crash/random.ts';
import { type Receiver, type ReceiverReport, startReceiver } from './crash/receiver.ts';
import { type Check, verify } from './crash/verify.ts';
import { temporaryFolder } from './harness/cleanup.ts';
import { askFor } from './harness/client.ts';
import { summary, table } from './harness/report.ts';
import type { Server } from './harness/server.ts';
import { startService } from './harness/service.ts';

/**
 * `node bench/crash.ts`: kills the service at random moments under load, starts it again, and at the end
 * compares what clients and receiver saw with what the store holds. Exit code 1 when anything is wrong.
 */

const USAGE = `Usage: node bench/crash.ts [--rounds 200] [--clients 32] [--seed N] [--help]

The seed decides moments, requests and the receiver's moods; what they meet is up to the machine.
`;

/** A round lasts from no time at all, to meet the start itself, to this. */
const ROUND_MS = 900;
/** No delivery for so long: the rest will not come either. */
const STALLED_MS = 45_000;
const SHOWN_VIOLATIONS = 10;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '200' },
      clients: { type: 'string', default: '32' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      help: { type: 'boolean', default: false },
    },
  });
  const [rounds, clients, seed] = [values.rounds, values.clients, values.seed].map(Number);
  if (values.help || !rounds || !clients || seed === undefined || Number.isNaN(seed)) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  process.stderr.write(`seed ${seed}\n`);
  return run({ rounds, clients, seed });
}

async function run({
  rounds,
  clients,
  seed,
}: {
  rounds: number;
  clients: number;
  seed: number;
}): Promise<number> {
  const random = seededRandom(seed);
  const folder = temporaryFolder();
  const receiver = await startReceiver(seed);
  const ledger = createLedger();
  const begin = performance.now();
  await subscribe(folder.path, receiver);

  const starts: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const started = performance.now();
    const service = await startForCrash(folder.path);
    starts.push(performance.now() - started);
    const load = runClients({ url: service.url, ledger, clients, random });
    await sleep(random() * ROUND_MS);
    await service.kill();
    await load;
    if (round % 20 === 0) process.stderr.write(`${round} rounds, ${ledger.entries.size} creates\n`);
  }
  const report = await settle(folder.path, { ledger, receiver, clients, random });
  const checks = verify(storePath(folder.path), ledger, report);
  await receiver.stop();

  const seconds = (performance.now() - begin) / 1000;
  process.stdout.write(
    `${asText(checks)}\n\n${asNotes({ rounds, seed, seconds, starts, ledger, report })}\n`,
  );
  const isSound = checks.every(({ violations }) => violations.length === 0);
  if (!isSound) {
    folder.keep();
    process.stderr.write(`The store is kept in ${folder.path}\n`);
  }
  return isSound ? 0 : 1;
}

function startForCrash(dataDir: string): Promise<Server> {
  const env = {
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    // No delivery may run out of attempts: it fails one in 28 times.
    WEBHOOK_RETRY_SCHEDULE: `0s,${Array.from({ length: 9 }, () => '200ms').join()}`,
  };
  return startService({ dataDir, env, core: undefined });
}

async function subscribe(dataDir: string, receiver: Receiver): Promise<void> {
  const service = await startForCrash(dataDir);
  const { body } = await askFor(`${service.url}/webhooks`, {
    method: 'POST',
    body: JSON.stringify({ url: receiver.url }),
  });
  receiver.trust(JSON.parse(body).secret);
  await service.stop();
}

/** The last start: unknown creates are sent again, deliveries come to an end, the service is stopped. */
async function settle(
  dataDir: string,
  { receiver, ...rest }: Omit<ClientsOptions, 'url'> & { receiver: Receiver },
): Promise<ReceiverReport> {
  receiver.calm();
  const service = await startForCrash(dataDir);
  await retryUnknown({ url: service.url, ...rest });
  let pending = pendingDeliveries(dataDir);
  let moved = performance.now();
  while (pending > 0 && performance.now() - moved < STALLED_MS) {
    await sleep(200);
    const left = pendingDeliveries(dataDir);
    if (left < pending) moved = performance.now();
    pending = left;
  }
  const code = await service.stop();
  if (code !== 0) rest.ledger.violations.push(`SIGTERM ended the service with ${code}`);
  return receiver.report();
}

function pendingDeliveries(dataDir: string): number {
  const db = new DatabaseSync(storePath(dataDir), { readOnly: true });
  const row = db.prepare(`SELECT count(*) AS count FROM deliveries WHERE state = 'pending'`).get();
  db.close();
  return Number(row?.count);
}

function asText(checks: Check[]): string {
  const rows = checks.map(({ name, count, violations }) => [
    name,
    String(count),
    violations.length === 0 ? 'holds' : `${violations.length} VIOLATIONS`,
  ]);
  const details = checks.flatMap(({ name, violations }) =>
    violations.slice(0, SHOWN_VIOLATIONS).map((violation) => `- ${name}: ${violation}`),
  );
  return [table(['what must hold', 'checked', ''], rows), ...details].join('\n');
}

type Notes = {
  rounds: number;
  seed: number;
  seconds: number;
  /** Milliseconds from each start to the URL. */
  starts: number[];
  ledger: Ledger;
  report: ReceiverReport;
};

function asNotes({ rounds, seed, seconds, starts, ledger, report }: Notes): string {
  const states = Map.groupBy(ledger.entries.values(), ({ state }) => state);
  const count = (state: State) => states.get(state)?.length ?? 0;
  const { retriedCreated, retriedTaken } = ledger.counts;
  const times = [...report.receipts.values()].map((receipt) => receipt.times);
  const again = times.filter((n) => n > 1);
  const { attempts, failed, reset, hung } = report.counts;
  const { median, max } = summary(starts);
  return [
    `${rounds} kills in ${seconds.toFixed(0)} s, seed ${seed}; start to URL ${median.toFixed(0)} ms, at most ${max.toFixed(0)} ms`,
    `creates: ${count('acknowledged')} acknowledged, ${count('exists')} known from a retry, ${count('unknown')} without id and with unknown outcome, ${count('refused')} refused`,
    `retries of unknown creates by id: ${retriedCreated} were created then, ${retriedTaken} were there`,
    `receiver: ${attempts} requests; ${failed} answered 500, ${reset} reset, ${hung} left hanging; ${again.length} events came more than once (at most ${summary(times).max} times)`,
  ]
    .map((line) => `- ${line}`)
    .join('\n');
}
