import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { monotonicMs } from '../../measure/clock.ts';
import { cpuSeconds, peakResidentBytes, residentBytes } from '../../measure/proc.ts';
import { type Figure, type Report, summary } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { type FastReceiver, startFastReceiver } from '../../servers/fast-receiver.ts';
import { startService } from '../../servers/service.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';
import { addBacklog, multiplyWebhook } from '../../stores/backlog.ts';

const MIB = 1024 * 1024;
/** The baseline: how many deliveries a service has sent. */
const FEW = 1_000;

type Shape = { name: string; webhooks: number; events: number };

/** A service that was started with a backlog and has sent some of it. */
type Run = {
  /** Milliseconds from the start of the process, and from when it printed its URL. */
  firstSinceStart: number;
  firstSinceReady: number;
  /** Bytes, at the end and at most. */
  resident: number;
  peak: number;
  /** Microseconds of CPU time per delivery, including the start. */
  cpu: number;
};

/** The cost of a long backlog: memory, CPU time, and the time to the first attempt after a start. */
export async function backlog(bench: Bench): Promise<Report> {
  const { deliveries, many, rounds, sent } = bench.quick
    ? { deliveries: 100_000, many: 1_000, rounds: 2, sent: 5_000 }
    : { deliveries: 1_000_000, many: 10_000, rounds: 3, sent: 200_000 };
  const receiver = await startFastReceiver();
  const takeRounds = async (shape: Shape, count: number, { isLeft }: { isLeft: boolean }) => {
    const runs: Run[] = [];
    let dataDir = '';
    for (let round = 0; round < rounds; round++) {
      if (round === 0 || !isLeft) dataDir = await makeStore(bench, receiver, shape, round);
      runs.push(await run(dataDir, receiver, count));
    }
    return runs;
  };
  const few = await takeRounds(shapeOf(FEW, 1), FEW, { isLeft: false });
  const figures: Figure[] = [
    { name: `RSS of a service that has sent ${FEW}`, unit: 'MiB', values: few.map(mibOf) },
  ];
  for (const { webhooks, atMost } of [
    { webhooks: 1, atMost: 64 },
    { webhooks: many, atMost: 96 },
  ]) {
    const shape = shapeOf(deliveries, webhooks);
    const short = await takeRounds(shapeOf(sent, webhooks), sent, { isLeft: false });
    const long = await takeRounds(shape, sent, { isLeft: true });
    figures.push(...figuresOf({ shape, sent, atMost }, { long, few, short }));
  }
  await receiver.stop();
  return { figures };
}

function shapeOf(deliveries: number, webhooks: number): Shape {
  const name = `${deliveries} of ${webhooks === 1 ? 'one webhook' : `${webhooks} webhooks`}`;
  return { name, webhooks, events: deliveries / webhooks };
}

/** The folder of a new store with a backlog that is due. */
async function makeStore(
  bench: Bench,
  receiver: FastReceiver,
  { name, webhooks, events }: Shape,
  round: number,
): Promise<string> {
  const dataDir = join(bench.folder, `backlog-${name.replaceAll(' ', '-')}-${round}`);
  mkdirSync(dataDir);
  bench.say(`a store with ${name} …`);
  // The service creates the schema, the user and the keys.
  const service = await startService({ dataDir, env: loopbackAllowed });
  await createWebhook(service, `${receiver.url}/`);
  await service.stop();
  if (webhooks > 1) multiplyWebhook(dataDir, webhooks);
  addBacklog(dataDir, events);
  return dataDir;
}

/** Starts a service on a store, and stops it when it has sent this many. */
async function run(dataDir: string, receiver: FastReceiver, sent: number): Promise<Run> {
  await receiver.reset();
  const start = monotonicMs();
  const service = await startService({ dataDir, env: loopbackAllowed });
  const ready = monotonicMs();
  const { first } = await receiver.received(sent);
  const [resident, peak] = [residentBytes(service.pid), peakResidentBytes(service.pid)];
  const { requests } = await receiver.tally();
  const cpu = (cpuSeconds(service.pid) / requests) * 1e6;
  await service.stop();
  return { firstSinceStart: first - start, firstSinceReady: first - ready, resident, peak, cpu };
}

function mibOf({ resident }: Run): number {
  return resident / MIB;
}

type Taken = { shape: Shape; sent: number; atMost: number };
type Runs = { long: Run[]; few: Run[]; short: Run[] };

function figuresOf({ shape, sent, atMost }: Taken, { long, few, short }: Runs): Figure[] {
  const base = summary(few.map(mibOf)).median;
  const cpu = summary(short.map((one) => one.cpu)).median;
  return [
    {
      name: `largest RSS while ${sent} of ${shape.name} are sent, against a service that has sent ${FEW}`,
      unit: 'MiB',
      values: long.map(({ peak }) => peak / MIB - base),
      target: { atMost },
    },
    {
      name: `first attempt after a start with ${shape.name}`,
      unit: 's',
      values: long.map(({ firstSinceStart }) => firstSinceStart / 1000),
      target: { atMost: 1 },
    },
    {
      name: 'the same, from when the service listens',
      unit: 's',
      values: long.map(({ firstSinceReady }) => firstSinceReady / 1000),
    },
    {
      name: `service CPU per delivery over ${sent}, against a backlog of just these`,
      unit: '×',
      values: long.map((one) => one.cpu / cpu),
      target: { atMost: 1.5 },
    },
  ];
}
