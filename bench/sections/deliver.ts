import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { addBacklog, countDeliveries } from '../harness/backlog.ts';
import { interleave, ratios } from '../harness/compare.ts';
import { type FastReceiver, sampleSender, startFastReceiver } from '../harness/fast-receiver.ts';
import type { Report } from '../harness/report.ts';
import type { Bench } from '../harness/section.ts';
import type { Server } from '../harness/server.ts';
import { startReference, startService } from '../harness/service.ts';
import { readRequest, runLoop } from '../harness/undici-loop.ts';
import { untilNoneLeft } from '../harness/wait.ts';
import { createWebhook, loopbackAllowed } from '../harness/webhooks.ts';

/** Requests under way at a time. */
const CONCURRENCY = 16;

/**
 * How fast a backlog goes to one fast receiver, against a loop that sends the same requests and does nothing else:
 * with a signature for each, which is half of what such a request costs, and with one signature for all.
 */
export async function deliver(bench: Bench): Promise<Report> {
  const { deliveries, rounds } = bench.quick
    ? { deliveries: 2_000, rounds: 2 }
    : { deliveries: 20_000, rounds: 5 };
  const dataDir = join(bench.folder, 'deliver');
  mkdirSync(dataDir);
  const receiver = await startFastReceiver();
  const loop = await startReference('undici-loop');
  const env = { ...loopbackAllowed, WEBHOOK_CONCURRENCY: String(CONCURRENCY) };
  const service = await startService({ dataDir, env });
  await createWebhook(service, `${receiver.url}/`);

  const drain = () => sampleDrain(service, { dataDir, receiver, deliveries });
  await drain();
  // The loop sends again what the service sent.
  const request = readRequest((await receiver.tally()).sample ?? '');
  const order = { url: `${receiver.url}/`, requests: deliveries, concurrency: CONCURRENCY, ...request };
  const send = (signed: boolean) =>
    sampleSender(loop, receiver, deliveries, () => runLoop(loop, { ...order, signed }));
  await send(true);
  await send(false);
  const contenders = new Map([
    ['deliver: service', drain],
    ['deliver: bare undici that signs', () => send(true)],
    ['deliver: bare undici, one signature', () => send(false)],
  ]);
  const loads = await interleave(contenders, rounds);
  await service.stop();
  await Promise.all([loop.stop(), receiver.stop()]);
  return {
    figures: [
      {
        name: `deliveries to one fast receiver, ${CONCURRENCY} at a time, against bare undici that signs each`,
        unit: '×',
        values: ratios(loads, ['deliver: service', 'deliver: bare undici that signs']),
        target: { atLeast: 0.5 },
      },
      {
        name: 'the same against bare undici that signs nothing',
        unit: '×',
        values: ratios(loads, ['deliver: service', 'deliver: bare undici, one signature']),
      },
      {
        name: 'the same, deliveries a second',
        unit: '/s',
        values: (loads.get('deliver: service') ?? []).map(({ rate }) => rate),
      },
    ],
    loads,
  };
}

type Drain = { dataDir: string; receiver: FastReceiver; deliveries: number };

function sampleDrain(service: Server, { dataDir, receiver, deliveries }: Drain) {
  return sampleSender(service, receiver, deliveries, async () => {
    addBacklog(dataDir, deliveries);
    await receiver.received(deliveries);
    // What is recorded after the last request belongs to what a delivery costs.
    await untilNoneLeft('deliveries without an outcome', () => countDeliveries(dataDir, 'pending'));
  });
}
