import { setTimeout as sleep } from 'node:timers/promises';
import { createLedger } from '../crash/ledger.ts';
import { type Mood, moodNames, type Receivers, startReceivers } from '../crash/receiver.ts';
import { type Outage, verify } from '../crash/verify.ts';
import { monotonicMs } from '../harness/clock.ts';
import type { Server } from '../harness/server.ts';
import { untilSettled } from '../harness/wait.ts';
import { createWebhook } from '../harness/webhooks.ts';
import { failuresOf, settleUnknown, startClients } from './clients.ts';
import type { Findings, Plan } from './findings.ts';
import { watchLeases } from './leases.ts';
import { startReplica } from './replica.ts';
import { makeServer, NO_FSYNC, type PostgresServer } from './servers.ts';
import { readDatabase } from './stored.ts';

/** Both replicas are up for at most so long before the next kill. */
const ROUND_MS = 2_000;
const CLIENTS = 8;
/** Slow enough that no backlog gathers. */
const THINK_MS = 200;
/** Longer than a lease: nothing moves until those of the last kill end. */
const STALLED_MS = 30_000;

/** Two replicas on one database, one of which is killed again and again, and started again, under load. */
export async function kill({ rounds, random }: Plan): Promise<Findings> {
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const receivers = await startReceivers(Math.floor(random() * 2 ** 31));
  const replicas: (Server | undefined)[] = [
    await startReplica(server.url()),
    await startReplica(server.url()),
  ];
  const webhooks = await subscribe(replicas[0], receivers);
  const leases = await watchLeases(server.url());

  const ledger = createLedger();
  const urls = () => replicas.flatMap((replica) => replica?.url ?? []);
  const load = { urls, ledger, clients: CLIENTS, random, thinkMs: THINK_MS };
  const clients = startClients(load);
  const outages: Outage[] = [];
  for (let round = 0; round < rounds; round++) {
    await sleep(random() * ROUND_MS);
    outages.push(await killOne(replicas, random() < 0.5 ? 0 : 1, server.url()));
  }
  await clients.stop();
  await settleUnknown(load);
  receivers.calm();
  await untilSettled(() => pendingIn(server), STALLED_MS);

  const takeovers = await leases.stop(webhooks);
  const codes = await Promise.all(replicas.map((replica) => replica?.stop()));
  if (codes.some((code) => code !== 0)) ledger.violations.push(`SIGTERM ended the replicas with ${codes}`);
  const report = await receivers.report();
  const checks = verify(await readDatabase(server.url()), { ledger, report, webhooks, outages });
  await receivers.stop();
  await server.stop();
  const [accepted, again] = [sizesOf(report.accepted), report.repeats.length];
  return {
    checks: [...checks, takeovers.check],
    notes: [
      `${rounds} kills; answers other than 201: ${failuresOf(ledger)}`,
      `retries of unknown creates by id: ${ledger.counts.retriedCreated} were created then, ${ledger.counts.retriedTaken} were there`,
      `duplicates: ${again} of ${accepted} that were accepted came again`,
      ...takeovers.notes,
    ],
  };
}

/** Kills a replica while the other goes on, and starts it again. */
async function killOne(replicas: (Server | undefined)[], which: 0 | 1, url: string): Promise<Outage> {
  const victim = replicas[which];
  const from = monotonicMs();
  // Clients go on to ask it until it is gone.
  await victim?.kill();
  replicas[which] = undefined;
  replicas[which] = await startReplica(url);
  return { from, to: monotonicMs() };
}

/** A webhook for each of the receivers: whom it calls, by its id. */
async function subscribe(replica: Server | undefined, receivers: Receivers): Promise<Map<string, Mood>> {
  const webhooks = new Map<string, Mood>();
  if (!replica) return webhooks;
  for (const mood of moodNames) {
    const { id, secret } = await createWebhook(replica, receivers.url(mood));
    receivers.trust(mood, secret);
    webhooks.set(id, mood);
  }
  return webhooks;
}

async function pendingIn(server: PostgresServer): Promise<number> {
  const [row] = await server.query(`SELECT count(*) AS pending FROM deliveries WHERE state = 'pending'`);
  return Number(row?.pending);
}

function sizesOf(accepted: Map<Mood, Map<string, number>>): number {
  return [...accepted.values()].reduce((sum, events) => sum + events.size, 0);
}
