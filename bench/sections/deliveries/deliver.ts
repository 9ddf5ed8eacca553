import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { interleave, ratios, type Sample } from '../../measure/compare.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { untilNoneLeft } from '../../measure/wait.ts';
import { type FastReceiver, sampleSender, startFastReceiver } from '../../servers/fast-receiver.ts';
import { startReference, startService } from '../../servers/service.ts';
import { readRequest, runLoop } from '../../servers/undici-loop.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';
import { addBacklog, countDeliveries } from '../../stores/backlog.ts';

/** Requests in flight. */
const CONCURRENCY = 16;

/**
 * How fast a backlog is sent to one fast receiver, against a loop that sends the same requests and does nothing else:
 * with a signature for each, which is half the cost of such a request, and with one signature for all. And against
 * the version before.
 */
export async function deliver(bench: Bench): Promise<Report> {
  const { deliveries, rounds } = bench.quick
    ? { deliveries: 2_000, rounds: 2 }
    : { deliveries: 20_000, rounds: 5 };
  const receiver = await startFastReceiver();
  const loop = await startReference('undici-loop');
  const mine = await startDrain(bench, 'deliver', { receiver, deliveries });
  const before =
    bench.before === undefined
      ? undefined
      : await startDrain(bench, 'deliver-before', { receiver, deliveries, root: bench.before });

  await mine.drain();
  // The loop repeats what the service sent.
  const request = readRequest((await receiver.tally()).sample ?? '');
  await before?.drain();
  const order = { url: `${receiver.url}/`, requests: deliveries, concurrency: CONCURRENCY, ...request };
  const send = (signed: boolean) => sampleSender(loop, receiver, () => runLoop(loop, { ...order, signed }));
  await send(true);
  await send(false);
  const contenders = new Map([
    ['deliver: service', mine.drain],
    ['deliver: bare undici that signs', () => send(true)],
    ['deliver: bare undici, one signature', () => send(false)],
    ...(before ? ([['deliver: version before', before.drain]] as const) : []),
  ]);
  const loads = await interleave(contenders, rounds);
  await Promise.all([mine.stop(), before?.stop(), loop.stop(), receiver.stop()]);
  return { figures: figuresOf(loads), loads };
}

type Drain = { drain(): Promise<Sample>; stop(): Promise<unknown> };

/** A service with one webhook, whose backlogs it sends. */
async function startDrain(
  bench: Bench,
  name: string,
  { receiver, deliveries, root }: { receiver: FastReceiver; deliveries: number; root?: string },
): Promise<Drain> {
  const dataDir = join(bench.folder, name);
  mkdirSync(dataDir);
  const env = { ...loopbackAllowed, WEBHOOK_CONCURRENCY: String(CONCURRENCY) };
  const service = await startService({ dataDir, env, root });
  await createWebhook(service, `${receiver.url}/`);
  return {
    drain: () =>
      sampleSender(service, receiver, async () => {
        addBacklog(dataDir, deliveries);
        await receiver.received(deliveries);
        // Recording after the last request is part of a delivery's cost.
        await untilNoneLeft('deliveries without an outcome', () => countDeliveries(dataDir, 'pending'));
      }),
    stop: service.stop,
  };
}

function figuresOf(loads: Map<string, Sample[]>): Figure[] {
  const [mine, signs] = ['deliver: service', 'deliver: bare undici that signs'];
  const cpu = ({ cpuPerAnswer }: Sample) => cpuPerAnswer;
  const before = 'deliver: version before';
  const name = `deliveries to one fast receiver, ${CONCURRENCY} at a time`;
  return [
    {
      name: `${name}, against bare undici that signs each`,
      unit: '×',
      values: ratios(loads, [mine, signs]),
      target: { atLeast: 0.75 },
    },
    {
      name: 'the same against bare undici that signs nothing',
      unit: '×',
      values: ratios(loads, [mine, 'deliver: bare undici, one signature']),
    },
    {
      name: 'the same, deliveries a second',
      unit: '/s',
      values: (loads.get(mine) ?? []).map(({ rate }) => rate),
    },
    { name: 'service CPU per delivery', unit: 'µs', values: (loads.get(mine) ?? []).map(cpu) },
    ...(loads.has(before)
      ? [
          {
            name: 'the same against the version before',
            unit: '×',
            values: ratios(loads, [mine, before], cpu),
            target: { atMost: 0.75 },
          },
          {
            name: 'deliveries a second against the version before',
            unit: '×',
            values: ratios(loads, [mine, before]),
          },
        ]
      : []),
  ];
}
