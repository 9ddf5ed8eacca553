import { setTimeout as sleep } from 'node:timers/promises';
import { createLedger } from '../crash/ledger.ts';
import { startReceivers } from '../crash/receiver.ts';
import { verify } from '../crash/verify.ts';
import { untilSettled } from '../measure/wait.ts';
import { failuresOf, settleUnknown, startClients } from './clients/clients.ts';
import { readDatabase } from './clients/stored.ts';
import { countAccepted, pendingIn, subscribe } from './clients/subscribed.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { asOtherHost, whyNoOtherHost } from './servers/other-host.ts';
import { makeServer, NO_FSYNC, type PostgresServer } from './servers/servers.ts';

const OFF_S = 600;
/** Seconds of load in a round. */
const ROUND_MS = 1_000;
const CLIENTS = 8;
const THINK_MS = 50;
const STALLED_MS = 110_000;

/**
 * Two replicas; the clock of one is ten minutes ahead, then ten minutes behind. Meanwhile receivers fail, hang and
 * break connections, so that deliveries wait for their next attempt. A round is a second of load.
 */
export async function clocks(plan: Plan): Promise<Findings> {
  const why = whyNoOtherHost();
  if (why !== undefined) throw new Error(`A replica with another clock ${why}`);
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const parts = [
    await withClock(plan, server, { name: 'ahead', clockSeconds: OFF_S }),
    await withClock(plan, server, { name: 'behind', clockSeconds: -OFF_S }),
  ];
  await server.stop();
  return { checks: parts.flatMap(({ checks }) => checks), notes: parts.flatMap(({ notes }) => notes) };
}

async function withClock(
  { rounds, random }: Plan,
  server: PostgresServer,
  { name, clockSeconds }: { name: string; clockSeconds: number },
): Promise<Findings> {
  const database = `clock_${name}`;
  await server.query(`CREATE DATABASE ${database}`);
  const url = server.url(database);
  const receivers = await startReceivers(Math.floor(random() * 2 ** 31));
  const right = await startReplica(url);
  const wrong = await startReplica(url, asOtherHost({ clockSeconds }));
  const webhooks = await subscribe(right, receivers);

  const ledger = createLedger();
  const urls = () => [right.url, wrong.url];
  const load = { urls, ledger, clients: CLIENTS, random, thinkMs: THINK_MS };
  const clients = startClients(load);
  await sleep(rounds * ROUND_MS);
  await clients.stop();
  await settleUnknown(load);
  receivers.calm();
  await untilSettled(() => pendingIn(server, database), STALLED_MS);

  const codes = [await right.stop(), await wrong.stop()];
  if (codes.some((code) => code !== 0)) ledger.violations.push(`SIGTERM ended the replicas with ${codes}`);
  const report = await receivers.report();
  // Nobody is killed, so any repetition is an unexplained duplicate.
  const checks = verify(await readDatabase(url), { ledger, report, webhooks, outages: [] });
  await receivers.stop();
  const minutes = OFF_S / 60;
  return {
    checks: checks.map((check) => ({ ...check, name: `${minutes} min ${name}: ${check.name}` })),
    notes: [
      `${minutes} min ${name}: ${report.repeats.length} of ${countAccepted(report)} that were accepted came again; ` +
        `answers other than 201: ${failuresOf(ledger)}`,
    ],
  };
}
