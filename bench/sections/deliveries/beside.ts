import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askFor } from '../../load/client.ts';
import { pace, percentile } from '../../load/pace.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { remarks, watchCpu } from '../../measure/usage.ts';
import { type FastReceiver, startFastReceiver } from '../../servers/fast-receiver.ts';
import type { Server } from '../../servers/server.ts';
import { createUser, startService } from '../../servers/service.ts';
import { SERVER_CORE } from '../../servers/tools.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';
import { addBacklog } from '../../stores/backlog.ts';

/** The rate of GETs, and of POSTs. */
const PER_SECOND = 200;

type Setting = {
  name: string;
  /** Undefined for all cores; on a machine with two, the load shares them. */
  core: number | undefined;
  /** The highest p99, as a multiple of that without deliveries. */
  atMost: number;
};

const SETTINGS: Setting[] = [
  { name: 'one core', core: SERVER_CORE, atMost: 2.5 },
  { name: 'two cores', core: undefined, atMost: 1.5 },
];

type Latencies = { get: number; post: number };
type Burst = Latencies & { perSecond: number };
type Round = { quiet: Latencies; burst: Burst; alone: number };

/**
 * What clients notice of deliveries: p99 of GETs and POSTs at a fixed rate, with and without deliveries. And the
 * reverse.
 */
export async function beside(bench: Bench): Promise<Report> {
  const receiver = await startFastReceiver();
  const reports: Report[] = [];
  for (const setting of SETTINGS) {
    bench.say(`beside, ${setting.name} …`);
    reports.push(await besideOn(bench, receiver, setting));
  }
  await receiver.stop();
  return {
    figures: reports.flatMap(({ figures }) => figures),
    notes: reports.flatMap(({ notes }) => notes ?? []),
  };
}

async function besideOn(bench: Bench, receiver: FastReceiver, setting: Setting): Promise<Report> {
  const { rounds, seconds, deliveries } = bench.quick
    ? { rounds: 2, seconds: 2, deliveries: 4_000 }
    : { rounds: 3, seconds: 15, deliveries: 100_000 };
  const dataDir = join(bench.folder, `beside-${setting.name.replace(' ', '-')}`);
  mkdirSync(dataDir);
  const service = await startService({ dataDir, env: loopbackAllowed, core: setting.core });
  await createWebhook(service, `${receiver.url}/`);
  // Without a webhook, so that this user's plants cause no deliveries.
  const token = createUser(dataDir, 'ann');

  async function burst(count: number): Promise<Burst> {
    await receiver.reset();
    addBacklog(dataDir, count);
    await receiver.received(1);
    const latencies = await during(service, token, () => receiver.received(count));
    return { ...latencies, perSecond: await rateOf(receiver) };
  }
  async function alone(count: number): Promise<number> {
    await receiver.reset();
    addBacklog(dataDir, count);
    await receiver.received(count);
    return rateOf(receiver);
  }
  const quiet = () => during(service, token, () => sleep(seconds * 1000));

  await quiet();
  await burst(deliveries / 10);
  const stop = watchCpu([service.pid, receiver.pid]);
  const taken: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    taken.push({ quiet: await quiet(), burst: await burst(deliveries), alone: await alone(deliveries) });
  }
  const notes = remarks(`beside, ${setting.name}`, stop());
  await service.stop();
  return { figures: figuresOf(setting, deliveries, taken), notes };
}

async function rateOf(receiver: FastReceiver): Promise<number> {
  const { requests, first, last } = await receiver.tally();
  return (requests - 1) / ((last - first) / 1000);
}

/** p99 of requests at a fixed rate during other work, in milliseconds. */
async function during(service: Server, token: string, something: () => Promise<unknown>): Promise<Latencies> {
  const url = `${service.url}/plants`;
  const gets = pace(PER_SECOND, () => askFor(`${url}?limit=20`, { token }));
  const body = JSON.stringify({ name: 'Black alder', tag: 'Alnus glutinosa' });
  const posts = pace(PER_SECOND, () => askFor(url, { method: 'POST', body, token }));
  await something();
  const [get, post] = await Promise.all([gets.end(), posts.end()]);
  return { get: percentile(get, 99), post: percentile(post, 99) };
}

function figuresOf({ name, atMost }: Setting, deliveries: number, taken: Round[]): Figure[] {
  const latency = (what: string, pick: (latencies: Latencies) => number): Figure[] => [
    {
      name: `${name}: p99 of ${what} while ${deliveries} deliveries are sent, against without`,
      unit: '×',
      values: taken.map(({ quiet, burst }) => pick(burst) / pick(quiet)),
      target: { atMost },
    },
    { name: `${name}: p99 of ${what} without`, unit: 'ms', values: taken.map(({ quiet }) => pick(quiet)) },
    { name: `${name}: p99 of ${what} with`, unit: 'ms', values: taken.map(({ burst }) => pick(burst)) },
  ];
  return [
    ...latency('GET /plants?limit=20', ({ get }) => get),
    ...latency('POST /plants', ({ post }) => post),
    {
      name: `${name}: deliveries meanwhile, against a service without requests`,
      unit: '×',
      values: taken.map(({ burst, alone }) => burst.perSecond / alone),
      target: { atLeast: 0.9 },
    },
    {
      name: `${name}: deliveries meanwhile`,
      unit: '/s',
      values: taken.map(({ burst }) => burst.perSecond),
    },
  ];
}
