import { setTimeout as sleep } from 'node:timers/promises';
import type { Check } from '../crash/check.ts';
import { createLedger, type Ledger } from '../crash/ledger.ts';
import { type Mood, startReceivers } from '../crash/receiver.ts';
import { type Outage, verify } from '../crash/verify.ts';
import { ask } from '../load/client.ts';
import { monotonicMs } from '../measure/clock.ts';
import { summary } from '../measure/report.ts';
import { untilSettled } from '../measure/wait.ts';
import type { Server } from '../servers/server.ts';
import { failuresOf, settleUnknown, startClients } from './clients/clients.ts';
import { readDatabase } from './clients/stored.ts';
import { countAccepted, pendingIn, subscribe } from './clients/subscribed.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { makeServer, makeStandby, type PostgresServer, STANDBY } from './servers/servers.ts';

/** The load before a kill lasts from this to twice as long, and continues this long once writes are back. */
const LOAD_MS = 1_000;
/** A promotion takes time: somebody must first notice the loss. */
const LONGEST_DELAY_MS = 2_000;
const CLIENTS = 32;
const THINK_MS = 20;

const MOST_SECONDS = 10;
/** Every event arrives, and again only after an outage. */
const MOODS: Mood[] = ['steady'];

/**
 * The primary is killed under load and its synchronous standby promoted, while plants are announced; in one round of six the primary hangs
 * instead, as when the network loses everything sent to it. The serving replica knows both hosts and survives all
 * rounds. Between two rounds the primary is stopped, copied to the other's place, and restarted with a standby.
 */
export async function failover({ rounds, random, isQuick }: Plan): Promise<Findings> {
  let primary = await makeServer();
  let standby = await makeStandby();
  await pair(primary, standby);
  const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join();
  const replica = await startReplica(primary.url().replace(/127.0.0.1:\d+/, hosts));

  const receivers = await startReceivers(Math.floor(random() * 2 ** 31));
  const webhooks = await subscribe(replica, receivers, MOODS);

  const ledger = createLedger();
  const losses: Loss[] = [];
  const hangs = isQuick ? 0 : Math.ceil(rounds / 5);
  for (let round = 0; round < rounds + hangs; round++) {
    if (round > 0) await pair(primary, standby);
    await untilWritable(replica);
    const load = { urls: () => [replica.url], ledger, clients: CLIENTS, random, thinkMs: THINK_MS };
    const clients = startClients(load);
    await sleep(LOAD_MS * (1 + random()));
    const how = round < rounds ? 'kill' : 'freeze';
    losses.push(await failOver(primary, standby, { replica, how, delayMs: random() * LONGEST_DELAY_MS }));
    await sleep(LOAD_MS);
    await clients.stop();
    await settleUnknown(load);
    [primary, standby] = [standby, primary];
  }
  await untilSettled(() => pendingIn(primary));
  const code = await replica.stop();
  if (code !== 0) ledger.violations.push(`SIGTERM ended the replica with ${code}`);
  const report = await receivers.report();
  const outages = losses.map(({ outage }) => outage);
  const checks = verify(await readDatabase(primary.url()), { ledger, report, webhooks, outages });
  await receivers.stop();
  await primary.stop();
  const repeated = `${report.repeats.length} of ${countAccepted(report)} deliveries that were accepted came again`;
  return findingsOf(checks, losses, [repeated, ...notesOf(ledger)]);
}

type How = 'kill' | 'freeze';

/** Milliseconds: from the loss to the end of the promotion, and from there to the first acknowledged write. */
type Loss = { how: How; outage: Outage; promotedMs: number; backMs: number };

async function failOver(
  primary: PostgresServer,
  standby: PostgresServer,
  { replica, how, delayMs }: { replica: Server; how: How; delayMs: number },
): Promise<Loss> {
  const from = monotonicMs();
  const lost = performance.now();
  await primary[how]();
  await sleep(delayMs);
  await standby.query('SELECT pg_promote()');
  const promoted = performance.now();
  await untilWritable(replica);
  const backMs = performance.now() - promoted;
  await primary.kill();
  return { how, outage: { from, to: monotonicMs() }, promotedMs: promoted - lost, backMs };
}

/** Starts the server as the primary of a synchronous standby, which is created from its data. */
async function pair(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  await primary.stop();
  standby.followFrom(primary);
  await primary.start({ synchronous_standby_names: STANDBY });
  await standby.start();
}

const PATIENCE_MS = 60_000;
const LOOK_MS = 20;

/** Waits until the replica accepts a write: a webhook that is deleted again, since the clients count the plants. */
async function untilWritable({ url }: Server): Promise<void> {
  const start = performance.now();
  for (;;) {
    const answer = await ask(`${url}/webhooks`, { method: 'POST', body: '{"url":"http://127.0.0.1:9/"}' });
    if (answer.status === 201) {
      await ask(`${url}/webhooks/${JSON.parse(answer.body).id}`, { method: 'DELETE' });
      return;
    }
    if (performance.now() - start > PATIENCE_MS) throw new Error(`No write within a minute: ${answer.body}`);
    await sleep(LOOK_MS);
  }
}

function findingsOf(checks: Check[], losses: Loss[], notes: string[]): Findings {
  const [kills, hangs] = [lossesBy('kill', losses), lossesBy('freeze', losses)];
  const late = kills.filter(({ backMs }) => backMs > MOST_SECONDS * 1_000);
  return {
    checks: [
      ...checks,
      {
        name: `writes are back within ${MOST_SECONDS} s of the promotion`,
        count: kills.length,
        violations: late.map(({ backMs }) => `after ${backMs.toFixed(0)} ms`),
      },
    ],
    notes: [
      `${kills.length} primaries killed: ${timesOf(kills)}`,
      ...(hangs.length > 0 ? [`${hangs.length} primaries that hung: ${timesOf(hangs)}`] : []),
      ...notes,
    ],
  };
}

function notesOf(ledger: Ledger): string[] {
  const { retriedCreated, retriedTaken } = ledger.counts;
  return [
    `answers other than 201: ${failuresOf(ledger)}`,
    `retries of unknown creates by id: ${retriedCreated} were created then, ${retriedTaken} were there`,
  ];
}

function lossesBy(how: How, losses: Loss[]): Loss[] {
  return losses.filter((loss) => loss.how === how);
}

function timesOf(losses: Loss[]): string {
  const back = summary(losses.map(({ backMs }) => backMs / 1_000));
  const promoted = summary(losses.map(({ promotedMs }) => promotedMs / 1_000));
  const text = (seconds: number) => `${seconds.toFixed(2)} s`;
  return [
    `${text(promoted.median)} to the end of the promotion (median), at most ${text(promoted.max)}`,
    `writes back ${text(back.median)} after it, at most ${text(back.max)}`,
  ].join('; ');
}
