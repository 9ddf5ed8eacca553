import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { storePath } from '../src/config/config.ts';
import { seededRandom } from '../testkit/random/seeded.ts';
import { type ClientsOptions, retryUnknown, runClients } from './crash/clients.ts';
import { createLedger } from './crash/ledger.ts';
import {
  type Mood,
  moodNames,
  type ReceiverReport,
  type Receivers,
  startReceivers,
} from './crash/receiver.ts';
import { asNotes, asText } from './crash/result.ts';
import { readFile } from './crash/stored.ts';
import { type Outage, verify } from './crash/verify.ts';
import { monotonicMs } from './measure/clock.ts';
import { untilSettled } from './measure/wait.ts';
import { temporaryFolder } from './servers/cleanup.ts';
import type { Server } from './servers/server.ts';
import { startService } from './servers/service.ts';
import { createWebhook, loopbackAllowed } from './servers/webhooks.ts';
import { countDeliveries } from './stores/backlog.ts';

/**
 * `node bench/crash.ts`: kills the service at random moments under load, restarts it, and at the end compares what
 * clients and receivers saw with the store. Exit code 1 when anything is wrong.
 */

const USAGE = `Usage: node bench/crash.ts [--rounds 200] [--clients 32] [--seed N] [--quick] [--help]

The seed decides moments, requests and the receivers' moods; what they meet is up to the machine.
  --quick  5 rounds: to see that it runs
`;

/** A round may end at once, during the start, and lasts at most this long. */
const ROUND_MS = 900;
/** As many as a schedule allows: no delivery may run out of attempts. */
const ATTEMPTS = 100;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string' },
      clients: { type: 'string', default: '32' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const given = [values.rounds ?? (values.quick ? '5' : '200'), values.clients, values.seed];
  const [rounds, clients, seed] = given.map(Number);
  if (values.help || !rounds || !clients || seed === undefined || Number.isNaN(seed)) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  process.stderr.write(`seed ${seed}\n`);
  return run({ rounds, clients, seed });
}

type Plan = { rounds: number; clients: number; seed: number };

async function run({ rounds, clients, seed }: Plan): Promise<number> {
  const random = seededRandom(seed);
  const folder = temporaryFolder();
  const receivers = await startReceivers(seed);
  const ledger = createLedger();
  const begin = performance.now();
  const webhooks = await subscribe(folder.path, receivers);

  const starts: number[] = [];
  const outages: Outage[] = [];
  /** After a kill: the outage ends when the service listens again. */
  let killedAt: number | undefined;

  async function start(): Promise<Server> {
    const started = performance.now();
    const service = await startForCrash(folder.path);
    starts.push(performance.now() - started);
    if (killedAt !== undefined) outages.push({ from: killedAt, to: monotonicMs() });
    return service;
  }

  for (let round = 1; round <= rounds; round++) {
    const service = await start();
    const load = runClients({ url: service.url, ledger, clients, random });
    await sleep(random() * ROUND_MS);
    killedAt = monotonicMs();
    await service.kill();
    await load;
    if (round % 20 === 0) process.stderr.write(`${round} rounds, ${ledger.entries.size} creates\n`);
  }
  const report = await settle(await start(), folder.path, { ledger, receivers, clients, random });
  const { stored, integrity } = readFile(storePath(folder.path));
  const checks = [integrity, ...verify(stored, { ledger, report, webhooks, outages })];
  await receivers.stop();

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
  const schedule = ['0s', ...Array.from({ length: ATTEMPTS - 1 }, () => '200ms')].join();
  return startService({
    dataDir,
    env: { ...loopbackAllowed, WEBHOOK_RETRY_SCHEDULE: schedule },
    core: undefined,
  });
}

/** A webhook for each receiver: the receiver by the webhook's id. */
async function subscribe(dataDir: string, receivers: Receivers): Promise<Map<string, Mood>> {
  const service = await startForCrash(dataDir);
  const webhooks = new Map<string, Mood>();
  for (const mood of moodNames) {
    const { id, secret } = await createWebhook(service, receivers.url(mood));
    receivers.trust(mood, secret);
    webhooks.set(id, mood);
  }
  await service.stop();
  return webhooks;
}

/** After the last start: retries unknown creates, waits until deliveries end, and stops the service. */
async function settle(
  service: Server,
  dataDir: string,
  { receivers, ...rest }: Omit<ClientsOptions, 'url'> & { receivers: Receivers },
): Promise<ReceiverReport> {
  receivers.calm();
  await retryUnknown({ url: service.url, ...rest });
  await untilSettled(() => countDeliveries(dataDir, 'pending'));
  const code = await service.stop();
  if (code !== 0) rest.ledger.violations.push(`SIGTERM ended the service with ${code}`);
  return receivers.report();
}
