import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAll } from '../../load/creates.ts';
import type { Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { untilNoneLeft } from '../../measure/wait.ts';
import { type Received, startReceiver } from '../../servers/receiver.ts';
import { startService } from '../../servers/service.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';

const WEBHOOKS = 4;
/** One request in this many is answered slowly, some with a delay between head and end. */
const SLOW_EVERY = 20;
const SLOWEST_MS = 2_000;
/** After the last event has arrived: time for the last responses and for duplicates. */
const SETTLE_MS = 5_000;

/** Receivers that answer 200, sometimes slowly, and a service that is not killed: each event arrives once. */
export async function duplicates(bench: Bench): Promise<Report> {
  const plants = bench.quick ? 250 : 5_000;
  const deliveries = plants * WEBHOOKS;
  const dataDir = join(bench.folder, 'duplicates');
  mkdirSync(dataDir);
  /** How often each event arrived at each path. */
  const times = new Map<string, number>();
  let requests = 0;
  const receiver = await startReceiver((received) => {
    requests++;
    const key = `${received.path} ${received.event}`;
    times.set(key, (times.get(key) ?? 0) + 1);
    void answer(received, requests);
  });
  const service = await startService({ dataDir, env: loopbackAllowed });
  for (let i = 0; i < WEBHOOKS; i++) await createWebhook(service, `${receiver.url}${i}`);

  await createAll(service, bodies(plants));
  await untilNoneLeft('deliveries that have not arrived', () => deliveries - times.size);
  await sleep(SETTLE_MS);
  await service.stop();
  await receiver.down();
  return {
    figures: [
      {
        name: `${deliveries} deliveries without a crash, 1 of ${SLOW_EVERY} answered slowly: duplicates`,
        unit: '',
        values: [requests - times.size],
        target: { atMost: 0 },
      },
    ],
  };
}

async function answer({ response }: Received, n: number): Promise<void> {
  const slow = n / SLOW_EVERY;
  if (Number.isInteger(slow)) {
    // Every second one sends its head at once and its body late.
    if (slow % 2 === 0) response.writeHead(200, { 'content-type': 'text/plain' }).write('well');
    await sleep((slow * 137) % SLOWEST_MS);
  }
  response.end('received');
}

function* bodies(count: number): Generator<string> {
  for (let n = 1; n <= count; n++) yield JSON.stringify({ name: `Plant ${n}` });
}
