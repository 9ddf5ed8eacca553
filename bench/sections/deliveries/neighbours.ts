import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startArrivals } from '../../load/arrivals.ts';
import { ask } from '../../load/client.ts';
import { percentile } from '../../load/pace.ts';
import { forgetPeak, peakResidentBytes } from '../../measure/proc.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { remarks, watchCpu } from '../../measure/usage.ts';
import type { Server } from '../../servers/server.ts';
import { startReference, startService } from '../../servers/service.ts';
import { LOAD_CORE } from '../../servers/tools.ts';
import { createWebhook, deleteWebhook, loopbackAllowed } from '../../servers/webhooks.ts';

const MIB = 1024 * 1024;
const HEALTHY = 10;
/** Paths of `reference/bad-receivers.ts`: never answers, answers a byte a second, answers 10 GiB. */
const BAD = ['hang', 'drip', 'flood'];
/** Each creates a delivery for every webhook. */
const CREATES_PER_SECOND = 40;
/** After the bad receivers are gone: time to remove their remains. */
const SETTLE_MS = 2_000;

type Round = { p50: number; p99: number; peakMib: number };

/** Ten healthy webhooks next to one that hangs, one that drips and one that floods, against the ten alone. */
export async function neighbours(bench: Bench): Promise<Report> {
  // Long enough for attempts to reach their deadline of 15 s and for lanes to settle.
  const { rounds, seconds } = bench.quick ? { rounds: 1, seconds: 4 } : { rounds: 3, seconds: 30 };
  const dataDir = join(bench.folder, 'neighbours');
  mkdirSync(dataDir);
  const service = await startService({ dataDir, env: loopbackAllowed });
  const arrivals = await startArrivals(HEALTHY);
  for (const url of arrivals.urls) await createWebhook(service, url);

  async function measure(): Promise<Round> {
    forgetPeak(service.pid);
    const times = await arrivals.measure(service, { perSecond: CREATES_PER_SECOND, seconds });
    const peakMib = peakResidentBytes(service.pid) / MIB;
    return { p50: percentile(times, 50), p99: percentile(times, 99), peakMib };
  }

  await measure();
  const stop = watchCpu([service.pid]);
  const alone: Round[] = [];
  const beside: Round[] = [];
  const requests: string[] = [];
  for (let round = 0; round < rounds; round++) {
    alone.push(await measure());
    const bad = await startBad(service);
    beside.push(await measure());
    requests.push(await bad.stop());
  }
  const disturbed = remarks('neighbours', stop());
  await service.stop();
  await arrivals.stop();
  return {
    figures: figuresOf(alone, beside),
    notes: [
      ...requests.map((counts) => `neighbours: the bad receivers had these requests in a round: ${counts}`),
      ...disturbed,
    ],
  };
}

function figuresOf(alone: Round[], beside: Round[]): Figure[] {
  const against = (figure: (before: Round, after: Round) => number) =>
    beside.flatMap((after, round) => {
      const before = alone[round];
      return before ? [figure(before, after)] : [];
    });
  const name = `${HEALTHY} healthy webhooks beside ${BAD.length} bad ones`;
  return [
    {
      name: `${name}, p99 of create to arrival, against without`,
      unit: '×',
      values: against((before, after) => after.p99 / before.p99),
      target: { atMost: 1.5 },
    },
    {
      name: 'the same, p50',
      unit: '×',
      values: against((before, after) => after.p50 / before.p50),
    },
    { name: 'p99 without the bad ones', unit: 'ms', values: alone.map(({ p99 }) => p99) },
    { name: 'p99 with them', unit: 'ms', values: beside.map(({ p99 }) => p99) },
    {
      name: `${name}: growth of the largest RSS`,
      unit: 'MiB',
      values: against((before, after) => after.peakMib - before.peakMib),
      target: { atMost: 16 },
    },
  ];
}

/** The bad receivers with a webhook each. `stop` removes both and returns the receivers' counts. */
async function startBad(service: Server): Promise<{ stop(): Promise<string> }> {
  const receivers = await startReference('bad-receivers', { core: LOAD_CORE });
  const webhooks: string[] = [];
  for (const path of BAD) webhooks.push((await createWebhook(service, `${receivers.url}/${path}`)).id);
  return {
    async stop() {
      const { body } = await ask(receivers.url);
      for (const id of webhooks) await deleteWebhook(service, id);
      await receivers.kill();
      await sleep(SETTLE_MS);
      return body;
    },
  };
}
