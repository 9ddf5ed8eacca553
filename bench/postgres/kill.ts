import { setTimeout as sleep } from 'node:timers/promises';
import type { Check } from '../crash/check.ts';
import { createLedger } from '../crash/ledger.ts';
import { startReceivers } from '../crash/receiver.ts';
import { type Outage, verify } from '../crash/verify.ts';
import { monotonicMs } from '../measure/clock.ts';
import { summary } from '../measure/report.ts';
import { untilSettled } from '../measure/wait.ts';
import type { Server } from '../servers/server.ts';
import { failuresOf, settleUnknown, startClients } from './clients/clients.ts';
import { readDatabase } from './clients/stored.ts';
import { countAccepted, pendingIn, subscribe, untilDelivered } from './clients/subscribed.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { makeServer, NO_FSYNC } from './servers/servers.ts';

/** The longest time both replicas are up before the next kill. */
const ROUND_MS = 2_000;
const CLIENTS = 8;
/** Slow enough that no backlog gathers: so late deliveries are due to the kill. */
const THINK_MS = 400;
/** A killed replica's deliveries are sent within this time. */
const TAKEN_OVER_MS = 12_000;
/** How long to wait for them at most. */
const PATIENCE_MS = { whole: 110_000, quick: 15_000 };
/** At the end: no more progress. */
const STALLED_MS = 110_000;
/** A faster takeover had nothing to wait for. */
const AT_ONCE_MS = 1_000;

/**
 * Two replicas on one database. One is killed repeatedly, and restarted when the other has sent the deliveries that
 * were pending for receivers that accept everything. Clients create plants all the time.
 */
export async function kill({ rounds, random, isQuick }: Plan): Promise<Findings> {
  const server = await makeServer();
  await server.start(NO_FSYNC);
  const receivers = await startReceivers(Math.floor(random() * 2 ** 31));
  const first = await startReplica(server.url());
  const replicas: (Server | undefined)[] = [first, await startReplica(server.url())];
  const webhooks = await subscribe(first, receivers);
  const healthy = [...webhooks.keys()].filter((id) => ['steady', 'slow'].includes(webhooks.get(id) ?? ''));

  const ledger = createLedger();
  const urls = () => replicas.flatMap((replica) => replica?.url ?? []);
  const load = { urls, ledger, clients: CLIENTS, random, thinkMs: THINK_MS };
  const clients = startClients(load);
  const outages: Outage[] = [];
  const takeovers: number[] = [];
  const patienceMs = PATIENCE_MS[isQuick ? 'quick' : 'whole'];
  for (let round = 0; round < rounds; round++) {
    // What gathered for the slow receiver during the last takeover is sent first: it would delay this one's.
    await untilDelivered(server, healthy, PATIENCE_MS.whole);
    await sleep(random() * ROUND_MS);
    const which = random() < 0.5 ? 0 : 1;
    const from = monotonicMs();
    // Clients keep using it until it is gone.
    await replicas[which]?.kill();
    replicas[which] = undefined;
    takeovers.push(await untilDelivered(server, healthy, patienceMs));
    replicas[which] = await startReplica(server.url());
    outages.push({ from, to: monotonicMs() });
  }
  await clients.stop();
  await settleUnknown(load);
  receivers.calm();
  await untilSettled(() => pendingIn(server), STALLED_MS);

  const codes = await Promise.all(replicas.map((replica) => replica?.stop()));
  if (codes.some((code) => code !== 0)) ledger.violations.push(`SIGTERM ended the replicas with ${codes}`);
  const report = await receivers.report();
  const checks = verify(await readDatabase(server.url()), { ledger, report, webhooks, outages });
  await receivers.stop();
  await server.stop();
  const [accepted, again] = [countAccepted(report), report.repeats.length];
  return {
    checks: [...checks, inTime(takeovers)],
    notes: [
      `${rounds} kills; answers other than 201: ${failuresOf(ledger)}`,
      `retries of unknown creates by id: ${ledger.counts.retriedCreated} were created then, ${ledger.counts.retriedTaken} were there`,
      `duplicates: ${again} of ${accepted} that were accepted came again`,
      noteOf(takeovers),
    ],
  };
}

function inTime(takeovers: number[]): Check {
  return {
    name: `deliveries pending at a kill were sent within ${TAKEN_OVER_MS / 1000} s`,
    count: takeovers.length,
    violations: takeovers.filter((ms) => ms > TAKEN_OVER_MS).map((ms) => `after ${secondsOf(ms)}`),
  };
}

function noteOf(takeovers: number[]): string {
  const waited = takeovers.filter((ms) => ms > AT_ONCE_MS);
  if (waited.length === 0)
    return `what was pending at a kill went out within ${secondsOf(AT_ONCE_MS)} each time`;
  const { median, max } = summary(waited);
  return (
    `what was pending went out within ${secondsOf(AT_ONCE_MS)} of ${takeovers.length - waited.length} kills; ` +
    `of the other ${waited.length} after ${secondsOf(median)} (median), at most ${secondsOf(max)}`
  );
}

function secondsOf(ms: number): string {
  return Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'not within the time limit';
}
