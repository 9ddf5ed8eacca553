import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { addBacklog, multiplyWebhook, setEnabled } from '../harness/backlog.ts';
import { type FastReceiver, startFastReceiver } from '../harness/fast-receiver.ts';
import { type ReadTimes, timeReads } from '../harness/lane-reads.ts';
import { forgetPeak, peakResidentBytes, residentBytes } from '../harness/proc.ts';
import type { Figure, Report } from '../harness/report.ts';
import type { Bench } from '../harness/section.ts';
import { startService } from '../harness/service.ts';
import { createWebhook, loopbackAllowed } from '../harness/webhooks.ts';

const MIB = 1024 * 1024;
/** Before the memory of an idle service is looked at. */
const IDLE_MS = 5_000;
/** Deliveries in the reads that are timed: the places of one webhook. */
const WINDOW = 16;
/** Deliveries of a short backlog. */
const SHORT = 1_000;

type Shape = { name: string; webhooks: number; events: number };

/** What a long backlog costs: the time of a read against a short one, and memory while it is sent. */
export async function backlog(bench: Bench): Promise<Report> {
  const { deliveries, many, few, rounds, sent } = bench.quick
    ? { deliveries: 100_000, many: 1_000, few: 100, rounds: 2, sent: 5_000 }
    : { deliveries: 1_000_000, many: 10_000, few: 100, rounds: 5, sent: 200_000 };
  const shapes = {
    short: { name: `${SHORT} of one webhook`, webhooks: 1, events: SHORT },
    long: { name: `${deliveries} of one webhook`, webhooks: 1, events: deliveries },
    shortSpread: { name: `${SHORT} of ${few} webhooks`, webhooks: few, events: SHORT / few },
    longSpread: { name: `${deliveries} of ${many} webhooks`, webhooks: many, events: deliveries / many },
  };
  const receiver = await startFastReceiver();
  const make = (shape: Shape) => makeStore(bench, receiver, shape);
  const stores = {
    short: await make(shapes.short),
    long: await make(shapes.long),
    shortSpread: await make(shapes.shortSpread),
    longSpread: await make(shapes.longSpread),
  };
  bench.say('reads …');
  const times = await timeReads(stores, { rounds, window: WINDOW });
  bench.say('deliveries …');
  const target = { atMost: 64 };
  const figures = [
    ...readFigures(`${shapes.long.name} against ${SHORT}`, times.long, times.short),
    ...readFigures(
      `${shapes.longSpread.name} against ${shapes.shortSpread.name}`,
      times.longSpread,
      times.shortSpread,
    ),
    await growthWhileSending(stores.long, { receiver, sent, shape: shapes.long, target }),
    await growthWhileSending(stores.longSpread, { receiver, sent, shape: shapes.longSpread, target }),
    await growthWhileSending(stores.short, { receiver, sent: SHORT, shape: shapes.short }),
    await growthWhileSending(stores.shortSpread, { receiver, sent: SHORT, shape: shapes.shortSpread }),
  ];
  await receiver.stop();
  return { figures };
}

/** The folder of a store with a backlog that waits; its webhooks are disabled. */
async function makeStore(
  bench: Bench,
  receiver: FastReceiver,
  { name, webhooks, events }: Shape,
): Promise<string> {
  const dataDir = join(bench.folder, `backlog-${name.replaceAll(' ', '-')}`);
  mkdirSync(dataDir);
  bench.say(`a store with ${name} …`);
  // The service makes the schema, the user and the keys.
  const service = await startService({ dataDir, env: loopbackAllowed });
  await createWebhook(service, `${receiver.url}/`);
  await service.stop();
  setEnabled(dataDir, false);
  if (webhooks > 1) multiplyWebhook(dataDir, webhooks);
  addBacklog(dataDir, events);
  return dataDir;
}

function readFigures(name: string, long: ReadTimes[], short: ReadTimes[]): Figure[] {
  const against = (figure: (times: ReadTimes) => number) =>
    long.flatMap((times, round) => {
      const other = short[round];
      return other ? [figure(times) / figure(other)] : [];
    });
  const target = { atMost: 1.5 };
  return [
    { name: `read of ${WINDOW}, ${name}`, unit: '×', values: against(({ ms }) => ms), target },
    { name: 'the same, CPU time', unit: '×', values: against(({ cpuMs }) => cpuMs), target },
    { name: 'one such read', unit: 'ms', values: long.map(({ ms }) => ms) },
  ];
}

type Sending = {
  receiver: FastReceiver;
  sent: number;
  shape: Shape;
  /** Short backlogs have none: they tell what the first deliveries take by themselves. */
  target?: { atMost: number };
};

/** How far the memory of an idle service grows when its webhooks are enabled and so many deliveries are sent. */
async function growthWhileSending(
  dataDir: string,
  { receiver, sent, shape, target }: Sending,
): Promise<Figure> {
  await receiver.reset();
  setEnabled(dataDir, false);
  const service = await startService({ dataDir, env: loopbackAllowed });
  await sleep(IDLE_MS);
  forgetPeak(service.pid);
  const before = residentBytes(service.pid);
  setEnabled(dataDir, true);
  await receiver.received(sent);
  const growth = (peakResidentBytes(service.pid) - before) / MIB;
  await service.stop();
  return {
    name: `growth of RSS while ${sent} of ${shape.name} are sent`,
    unit: 'MiB',
    values: [growth],
    ...(target && { target }),
  };
}
