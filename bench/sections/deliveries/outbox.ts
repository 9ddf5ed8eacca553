import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { askFor } from '../../load/client.ts';
import { sendLoad } from '../../load/load.ts';
import { interleave, ratios } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { untilNoneLeft } from '../../measure/wait.ts';
import { sampleSender, startFastReceiver } from '../../servers/fast-receiver.ts';
import type { Server } from '../../servers/server.ts';
import { startReference, startService } from '../../servers/service.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';
import { countDeliveries } from '../../stores/backlog.ts';
import { createLoad } from '../requests/create.ts';

/** Requests in flight. */
const CONCURRENCY = '16';

/**
 * Creates at full speed with one webhook, until every plant's event is delivered and recorded, against a bare outbox.
 * The rate is that of deliveries, from the first to the last.
 */
export async function outbox(bench: Bench): Promise<Report> {
  const dataDir = join(bench.folder, 'outbox');
  mkdirSync(dataDir);
  const receiver = await startFastReceiver();
  const env = { ...loopbackAllowed, WEBHOOK_CONCURRENCY: CONCURRENCY };
  const service = await startService({ dataDir, env });
  await createWebhook(service, `${receiver.url}/`);
  const bare = await startReference('outbox', { dataDir, env: { RECEIVER: receiver.url, CONCURRENCY } });
  const { rounds, seconds } = roundsOf(bench);
  const drain = (server: Server, left: () => number | Promise<number>) => () =>
    sampleSender(server, receiver, async () => {
      const { failures } = await sendLoad(server.url, createLoad, seconds);
      if (failures > 0) throw new Error(`outbox: ${failures} creates failed`);
      await untilNoneLeft('events that are not delivered', left);
    });
  const contenders = new Map([
    ['outbox: service', drain(service, () => countDeliveries(dataDir, 'pending'))],
    ['outbox: bare', drain(bare, async () => JSON.parse((await askFor(bare.url)).body).waiting)],
  ]);
  for (const take of contenders.values()) await take();
  const loads = await interleave(contenders, rounds);
  await Promise.all([service.stop(), bare.stop(), receiver.stop()]);
  const values = ratios(loads, ['outbox: service', 'outbox: bare']);
  const name = `creates with one webhook, delivery included, against a bare outbox on node:sqlite`;
  return { figures: [{ name, unit: '×', values, target: { atLeast: 0.75 } }], loads };
}
