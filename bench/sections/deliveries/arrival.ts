import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Arrivals, startArrivals } from '../../load/arrivals.ts';
import { percentile } from '../../load/pace.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { remarks, watchCpu } from '../../measure/usage.ts';
import { startDatabase } from '../../servers/postgres.ts';
import type { Server } from '../../servers/server.ts';
import { startService } from '../../servers/service.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';

const CREATES_PER_SECOND = 100;

type Contender = {
  name: string;
  /** Milliseconds; a contender without a target is only for comparison. */
  target?: { p50: number; p99: number };
  service: Server;
  arrivals: Arrivals;
  /** The length of each round. */
  times: number[][];
};

/** From the time when a create was due to be sent until its event arrives, on both stores. */
export async function arrival(bench: Bench): Promise<Report> {
  const { rounds, seconds, warmUpSeconds } = bench.quick
    ? { rounds: 2, seconds: 2, warmUpSeconds: 2 }
    : { rounds: 3, seconds: 20, warmUpSeconds: 5 };
  const database = await startDatabase();
  const onPostgres = { DATABASE_URL: await database.create('arrival') };
  const contenders = [
    await startContender(bench, 'embedded', { target: { p50: 0.99, p99: 3.2 } }),
    await startContender(bench, 'PostgreSQL', { env: onPostgres, target: { p50: 10, p99: 50 } }),
  ];
  if (bench.before !== undefined) {
    contenders.push(await startContender(bench, 'embedded, version before', { root: bench.before }));
  }

  for (const { arrivals, service } of contenders) {
    await arrivals.measure(service, { perSecond: CREATES_PER_SECOND, seconds: warmUpSeconds });
  }
  const used = database.cpuSeconds();
  const stop = watchCpu(contenders.map(({ service }) => service.pid));
  for (let round = 0; round < rounds; round++) {
    for (const { arrivals, service, times } of contenders) {
      times.push(await arrivals.measure(service, { perSecond: CREATES_PER_SECOND, seconds }));
    }
  }
  const usage = stop();
  const others = Math.max(0, usage.others - (database.cpuSeconds() - used));
  for (const { service, arrivals } of contenders) {
    await service.stop();
    await arrivals.stop();
  }
  await database.stop();
  return { figures: contenders.flatMap(figuresOf), notes: remarks('arrival', { ...usage, others }) };
}

type Start = Pick<Contender, 'target'> & { env?: Record<string, string>; root?: string };

async function startContender(
  bench: Bench,
  name: string,
  { env = {}, root, ...rest }: Start,
): Promise<Contender> {
  const dataDir = join(bench.folder, `arrival-${name.replaceAll(/\W+/g, '-')}`);
  mkdirSync(dataDir);
  const service = await startService({ dataDir, env: { ...loopbackAllowed, ...env }, root });
  const arrivals = await startArrivals(1);
  for (const url of arrivals.urls) await createWebhook(service, url);
  return { name, service, arrivals, times: [], ...rest };
}

function figuresOf({ name, target, times }: Contender): Figure[] {
  const figure = (which: 'p50' | 'p99', percent: number): Figure => ({
    name: `${name}: create to arrival at ${CREATES_PER_SECOND} creates/s, ${which}`,
    unit: 'ms',
    values: times.map((round) => percentile(round, percent)),
    ...(target && { target: { atMost: target[which] } }),
  });
  return [figure('p50', 50), figure('p99', 99)];
}
