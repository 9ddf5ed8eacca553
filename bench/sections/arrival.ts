import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startArrivals } from '../harness/arrivals.ts';
import { percentile } from '../harness/pace.ts';
import type { Report } from '../harness/report.ts';
import type { Bench } from '../harness/section.ts';
import { startService } from '../harness/service.ts';
import { remarks, watchCpu } from '../harness/usage.ts';
import { createWebhook, loopbackAllowed } from '../harness/webhooks.ts';

const CREATES_PER_SECOND = 100;

/** From the moment when a create was due to be sent to the arrival of its event. */
export async function arrival(bench: Bench): Promise<Report> {
  const { rounds, seconds, warmUpSeconds } = bench.quick
    ? { rounds: 2, seconds: 2, warmUpSeconds: 2 }
    : { rounds: 3, seconds: 20, warmUpSeconds: 5 };
  const dataDir = join(bench.folder, 'arrival');
  mkdirSync(dataDir);
  const service = await startService({ dataDir, env: loopbackAllowed });
  const arrivals = await startArrivals(1);
  for (const url of arrivals.urls) await createWebhook(service, url);

  await arrivals.measure(service, { perSecond: CREATES_PER_SECOND, seconds: warmUpSeconds });
  const stop = watchCpu([service.pid]);
  const times: number[][] = [];
  for (let round = 0; round < rounds; round++) {
    times.push(await arrivals.measure(service, { perSecond: CREATES_PER_SECOND, seconds }));
  }
  const notes = remarks('arrival', stop());
  await service.stop();
  await arrivals.stop();
  const values = (percent: number) => times.map((round) => percentile(round, percent));
  const name = `create to arrival at ${CREATES_PER_SECOND} creates/s`;
  return {
    figures: [
      { name: `${name}, p50`, unit: 'ms', values: values(50), target: { atMost: 10 } },
      { name: `${name}, p99`, unit: 'ms', values: values(99), target: { atMost: 50 } },
    ],
    notes,
  };
}
