import { setTimeout as sleep } from 'node:timers/promises';
import { createLedger } from '../crash/ledger.ts';
import { type Mood, startReceivers } from '../crash/receiver.ts';
import { type Outage, verify } from '../crash/verify.ts';
import { monotonicMs } from '../measure/clock.ts';
import { untilSettled } from '../measure/wait.ts';
import { failuresOf, settleUnknown, startClients } from './clients/clients.ts';
import { readDatabase } from './clients/stored.ts';
import { countAccepted, pendingIn, subscribe } from './clients/subscribed.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { makeServer, NO_FSYNC, type PostgresServer } from './servers/servers.ts';

/** The longest time between two kills. */
const ROUND_MS = 1_500;
const CLIENTS = 8;
/** Together they create fewer plants than the slow receiver takes: 16 at a time, each after 100 ms. */
const THINK_MS = 120;
const DELIVERED_MS = 5_000;
/** Longer than any wait of the service; without progress for this long, a delivery is lost. */
const STALLED_MS = 110_000;
/** They accept everything, one of them after a while: so late deliveries are due to the kills. */
const MOODS: Mood[] = ['steady', 'slow'];

const BACKENDS = `SELECT pid
  FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND application_name LIKE 'plant-store%'`;

/**
 * Under load, a connection of the service repeatedly loses its server process: every second time by SIGKILL, after
 * which PostgreSQL ends all others too and recovers, otherwise by `pg_terminate_backend`. Both replicas survive.
 */
export async function backends({ rounds, random }: Plan): Promise<Findings> {
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const receivers = await startReceivers(Math.floor(random() * 2 ** 31));
  const first = await startReplica(server.url());
  const replicas = [first, await startReplica(server.url())];
  const webhooks = await subscribe(first, receivers, MOODS);

  const ledger = createLedger();
  const urls = () => replicas.map(({ url }) => url);
  const load = { urls, ledger, clients: CLIENTS, random, thinkMs: THINK_MS };
  const clients = startClients(load);
  const outages: Outage[] = [];
  for (let round = 0; round < rounds; round++) {
    await sleep(random() * ROUND_MS);
    outages.push(await killBackend(server, round % 2 === 0 ? 'SIGKILL' : 'terminate', random));
  }
  await clients.stop();
  await settleUnknown(load);
  const end = performance.now();
  const left = await untilSettled(() => pendingIn(server), STALLED_MS);
  const ms = performance.now() - end;

  const codes = await Promise.all(replicas.map((replica) => replica.stop()));
  if (codes.some((code) => code !== 0)) ledger.violations.push(`SIGTERM ended the replicas with ${codes}`);
  const report = await receivers.report();
  const checks = verify(await readDatabase(server.url()), { ledger, report, webhooks, outages });
  await receivers.stop();
  await server.stop();
  const took = left > 0 ? `${left} are left` : `after ${(ms / 1000).toFixed(1)} s`;
  return {
    checks: [
      ...checks,
      {
        name: `all deliveries succeed within ${DELIVERED_MS / 1000} s after the load`,
        count: countAccepted(report),
        violations: left > 0 || ms > DELIVERED_MS ? [took] : [],
      },
    ],
    notes: [
      `${rounds} backends killed; answers other than 201: ${failuresOf(ledger)}`,
      `after the load everything was delivered: ${took}`,
      `duplicates: ${report.repeats.length} of ${countAccepted(report)} that were accepted came again`,
    ],
  };
}

/** From the kill until the server accepts connections again. */
async function killBackend(
  server: PostgresServer,
  how: 'SIGKILL' | 'terminate',
  random: () => number,
): Promise<Outage> {
  const found = await server.query(BACKENDS);
  const pid = Number(found[Math.floor(random() * found.length)]?.pid ?? 0);
  if (pid === 0) throw new Error('The replicas have no connection');
  const from = monotonicMs();
  if (how === 'SIGKILL') process.kill(pid, 'SIGKILL');
  else await server.query(`SELECT pg_terminate_backend(${pid})`);
  await untilWelcome(server);
  return { from, to: monotonicMs() };
}

const PATIENCE_MS = 60_000;
const LOOK_MS = 20;

async function untilWelcome(server: PostgresServer): Promise<void> {
  for (const start = performance.now(); ; await sleep(LOOK_MS)) {
    try {
      await server.query(BACKENDS);
      return;
    } catch (cause) {
      if (performance.now() - start > PATIENCE_MS) throw new Error('PostgreSQL does not recover', { cause });
    }
  }
}
