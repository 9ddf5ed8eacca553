import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { addBacklog } from '../harness/backlog.ts';
import { askFor } from '../harness/client.ts';
import { startFastReceiver } from '../harness/fast-receiver.ts';
import { pace, percentile } from '../harness/pace.ts';
import type { Figure, Report } from '../harness/report.ts';
import type { Bench } from '../harness/section.ts';
import type { Server } from '../harness/server.ts';
import { createUser, startService } from '../harness/service.ts';
import { remarks, watchCpu } from '../harness/usage.ts';
import { createWebhook, loopbackAllowed } from '../harness/webhooks.ts';

/** Of GETs, and of POSTs as well. */
const PER_SECOND = 200;

type Latencies = { get: number; post: number };

/** What clients notice of deliveries under way: p99 of GETs and POSTs at a fixed rate, with and without them. */
export async function beside(bench: Bench): Promise<Report> {
  const { rounds, seconds, deliveries } = bench.quick
    ? { rounds: 2, seconds: 2, deliveries: 4_000 }
    : { rounds: 3, seconds: 15, deliveries: 100_000 };
  const dataDir = join(bench.folder, 'beside');
  mkdirSync(dataDir);
  const receiver = await startFastReceiver();
  const service = await startService({ dataDir, env: loopbackAllowed });
  await createWebhook(service, `${receiver.url}/`);
  // Without a webhook: the plants of the one who asks make no deliveries.
  const token = createUser(dataDir, 'ann');

  async function withDeliveries(count: number): Promise<Latencies & { perSecond: number }> {
    await receiver.reset();
    addBacklog(dataDir, count);
    await receiver.received(1);
    const latencies = await during(service, token, () => receiver.received(count));
    const { first, last } = await receiver.tally();
    return { ...latencies, perSecond: (count - 1) / ((last - first) / 1000) };
  }
  const without = () => during(service, token, () => sleep(seconds * 1000));

  await without();
  await withDeliveries(deliveries / 10);
  const stop = watchCpu([service.pid, receiver.pid]);
  const pairs = [];
  for (let round = 0; round < rounds; round++) {
    pairs.push({ before: await without(), after: await withDeliveries(deliveries) });
  }
  const notes = remarks('beside', stop());
  await service.stop();
  await receiver.stop();
  return {
    figures: [
      ...figuresOf('GET /plants?limit=20', pairs, ({ get }) => get),
      ...figuresOf('POST /plants', pairs, ({ post }) => post),
      { name: 'deliveries meanwhile', unit: '/s', values: pairs.map(({ after }) => after.perSecond) },
    ],
    notes,
  };
}

/** p99 of requests at a fixed rate while something goes on, in milliseconds. */
async function during(service: Server, token: string, something: () => Promise<unknown>): Promise<Latencies> {
  const url = `${service.url}/plants`;
  const gets = pace(PER_SECOND, () => askFor(`${url}?limit=20`, { token }));
  const body = JSON.stringify({ name: 'Black alder', tag: 'Alnus glutinosa' });
  const posts = pace(PER_SECOND, () => askFor(url, { method: 'POST', body, token }));
  await something();
  const [get, post] = await Promise.all([gets.end(), posts.end()]);
  return { get: percentile(get, 99), post: percentile(post, 99) };
}

function figuresOf(
  what: string,
  pairs: { before: Latencies; after: Latencies }[],
  pick: (latencies: Latencies) => number,
): Figure[] {
  return [
    {
      name: `p99 of ${what} while deliveries are sent, against without`,
      unit: '×',
      values: pairs.map(({ before, after }) => pick(after) / pick(before)),
      target: { atMost: 2 },
    },
    { name: `p99 of ${what} without`, unit: 'ms', values: pairs.map(({ before }) => pick(before)) },
    { name: `p99 of ${what} with`, unit: 'ms', values: pairs.map(({ after }) => pick(after)) },
  ];
}
