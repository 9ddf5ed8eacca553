import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { askFor } from '../../load/client.ts';
import { createAll } from '../../load/creates.ts';
import type { Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { untilNoneLeft, untilSettled } from '../../measure/wait.ts';
import { startReceiver } from '../../servers/receiver.ts';
import type { Server } from '../../servers/server.ts';
import { startService } from '../../servers/service.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';
import { countDeliveries } from '../../stores/backlog.ts';

/**
 * Few plants for many webhooks, because a failing webhook is only probed: the attempts of a long backlog would take
 * hours to run out.
 */
const PLANTS = 4;
const SCHEDULE = '0s,100ms,200ms';

/** A receiver that is down until every delivery has failed for good and then recovers: a replay brings all events. */
export async function replay(bench: Bench): Promise<Report> {
  const count = bench.quick ? 10 : 100;
  const deliveries = PLANTS * count;
  const dataDir = join(bench.folder, 'replay');
  mkdirSync(dataDir);
  /** A webhook's path and an event. */
  const arrived = new Set<string>();
  const receiver = await startReceiver(({ path, event, response }) => {
    arrived.add(`${path} ${event}`);
    response.writeHead(204).end();
  });
  await receiver.down();
  const service = await startService({
    dataDir,
    env: { ...loopbackAllowed, WEBHOOK_RETRY_SCHEDULE: SCHEDULE },
  });
  const webhooks: string[] = [];
  for (let i = 0; i < count; i++) webhooks.push((await createWebhook(service, `${receiver.url}${i}`)).id);

  const since = new Date().toISOString();
  await createAll(service, bodies());
  await untilNoneLeft(
    'deliveries that have not failed',
    () => deliveries - countDeliveries(dataDir, 'failed'),
  );
  await receiver.up();
  const start = performance.now();
  let announced = 0;
  for (const id of webhooks) announced += await startReplay(service, id, since);
  await untilSettled(() => deliveries - arrived.size);
  const seconds = (performance.now() - start) / 1000;
  await untilSettled(() => countDeliveries(dataDir, 'pending'));
  const delivered = countDeliveries(dataDir, 'delivered');
  await service.stop();
  await receiver.down();

  const name = `${deliveries} deliveries failed for good, the receiver came back, replay`;
  const share = (value: number) => [(value / deliveries) * 100];
  const target = { atLeast: 100 };
  return {
    figures: [
      { name: `${name}: events that arrived`, unit: '%', values: share(arrived.size), target },
      { name: 'the same, deliveries that succeeded', unit: '%', values: share(delivered), target },
      { name: 'the same, the count in the response', unit: '%', values: share(announced), target },
      { name: 'the same, from the first replay to the last arrival', unit: 's', values: [seconds] },
    ],
  };
}

async function startReplay(service: Server, webhook: string, since: string): Promise<number> {
  const body = JSON.stringify({ since });
  const answer = await askFor(`${service.url}/webhooks/${webhook}/replay`, { method: 'POST', body });
  return JSON.parse(answer.body).count;
}

function bodies(): string[] {
  return Array.from({ length: PLANTS }, (_, i) => JSON.stringify({ name: `Plant ${i + 1}` }));
}
