import { setTimeout as sleep } from 'node:timers/promises';
import { createLedger } from '../crash/ledger.ts';
import { type Mood, startReceivers } from '../crash/receiver.ts';
import { verify } from '../crash/verify.ts';
import { monotonicMs } from '../measure/clock.ts';
import { untilSettled } from '../measure/wait.ts';
import type { Server } from '../servers/server.ts';
import { failuresOf, settleUnknown, startClients } from './clients/clients.ts';
import { readDatabase } from './clients/stored.ts';
import { countAccepted, pendingIn, subscribe } from './clients/subscribed.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { makeServer, NO_FSYNC } from './servers/servers.ts';

const REPLICAS = 3;
const CLIENTS = 8;
const THINK_MS = 100;
/** How long both versions serve together after each step. */
const TOGETHER_MS = 5_000;
/** Failing receivers would be probed by each version by itself; what counts here is that nothing is lost. */
const MOODS: Mood[] = ['steady', 'slow'];

/**
 * Three replicas of the version before are replaced one after the other under load; the first of this version migrates
 * the schema. While both run, a delivery may be sent twice; none may be lost, and no request may fail but by the stop of
 * its replica.
 */
export async function update({ rounds, random, before }: Plan): Promise<Findings> {
  if (before === undefined) return { checks: [], notes: ['needs --before'] };
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const receivers = await startReceivers(Math.floor(random() * 2 ** 31));
  const start = (root?: string) => startReplica(server.url(), {}, root);
  const replicas: Server[] = [];
  for (let n = 0; n < REPLICAS; n++) replicas.push(await start(before));
  const [first] = replicas;
  if (!first) throw new Error('There is no replica.');
  const webhooks = await subscribe(first, receivers, MOODS);

  const ledger = createLedger();
  const load = {
    urls: () => replicas.map(({ url }) => url),
    ledger,
    clients: CLIENTS,
    random,
    thinkMs: THINK_MS,
  };
  const clients = startClients(load);
  await sleep(TOGETHER_MS);
  const from = monotonicMs();
  for (let step = 0; step < rounds * REPLICAS; step++) {
    const next = await start();
    await sleep(TOGETHER_MS);
    const last = replicas.shift();
    replicas.push(next);
    const code = await last?.stop();
    if (code !== 0) ledger.violations.push(`SIGTERM ended a replica with ${code}`);
  }
  const together = { from, to: monotonicMs() };
  await sleep(TOGETHER_MS);
  await clients.stop();
  await settleUnknown(load);
  await untilSettled(() => pendingIn(server));
  for (const replica of replicas) await replica.stop();
  const report = await receivers.report();
  const known = { ledger, report, webhooks, outages: [together] };
  const checks = verify(await readDatabase(server.url()), known);
  await receivers.stop();
  await server.stop();
  return {
    checks,
    notes: [
      `answers other than 201: ${failuresOf(ledger)}`,
      `${report.repeats.length} of ${countAccepted(report)} deliveries that were accepted came again`,
    ],
  };
}
