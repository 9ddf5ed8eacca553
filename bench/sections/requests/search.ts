import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { askFor } from '../../load/client.ts';
import type { Load } from '../../load/load.ts';
import { startBefore } from '../../measure/before.ts';
import { compare, ratios } from '../../measure/compare.ts';
import type { Figure, Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { startDatabase } from '../../servers/postgres.ts';
import type { Server } from '../../servers/server.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { createWebhook, loopbackAllowed } from '../../servers/webhooks.ts';
import { addBacklog, multiplyWebhook } from '../../stores/backlog.ts';
import { addPlants } from '../../stores/fill.ts';
import { addBacklogIn, addPlantsIn, multiplyWebhookIn } from '../../stores/postgres-store.ts';
import { createLoad } from './create.ts';

/** A person's console and a few other clients. */
const CONNECTIONS = 4;
const WEBHOOKS = 100;
/** Creates whose names are spread over the index, unlike those of an import: the most that it can cost. */
const spread: Load = { ...createLoad, body: '{"name":"{spread}","tag":"Alnus glutinosa"}' };

/**
 * Lists that use the index of names and those of all webhooks' deliveries, in large stores, and what the indexes cost
 * creates: against the version before, which has none.
 */
export async function search(bench: Bench): Promise<Report> {
  const count = bench.quick ? 100_000 : 1_000_000;
  const dataDir = join(bench.folder, 'search');
  mkdirSync(dataDir);
  // Nothing is sent to a webhook that is disabled.
  const first = await startService({ dataDir, env: loopbackAllowed });
  await disabledWebhook(first);
  await first.stop();
  addPlants(dataDir, count);
  multiplyWebhook(dataDir, WEBHOOKS);
  addBacklog(dataDir, count / WEBHOOKS);
  const embedded = await startService({ dataDir, env: loopbackAllowed });

  const database = await startDatabase();
  const url = await database.create('search');
  const onPostgres = await startService({
    dataDir: bench.folder,
    env: { ...loopbackAllowed, DATABASE_URL: url },
  });
  await disabledWebhook(onPostgres);
  await addPlantsIn(url, count);
  await multiplyWebhookIn(url, WEBHOOKS);
  await addBacklogIn(url, count / WEBHOOKS);

  const figures: Figure[] = [];
  const loads: Report['loads'] = new Map();
  for (const [store, server] of [
    ['embedded', embedded],
    ['PostgreSQL', onPostgres],
  ] as const) {
    for (const [what, path] of [
      [`names in ${count} plants`, `/plants?name=PLANT%20{id%${count}}&limit=20`],
      [`last names in ${count} plants`, `/plants?name=PLANT%20{id%1000}&limit=20&cursor=last`],
      [`newest of ${count} plants`, `/plants?order=desc&limit=20&from={id%${count}}`],
      [`deliveries of ${WEBHOOKS} webhooks, ${count} deliveries`, '/deliveries?limit=20'],
      [`the same, held ones`, '/deliveries?state=held&limit=20'],
    ] as const) {
      const name = `search: ${what}, ${store}`;
      const load: Load = { method: 'GET', paths: [path], token: TOKEN, connections: CONNECTIONS };
      const samples = (await compare([{ name, server, load }], roundsOf(bench))).get(name) ?? [];
      loads.set(name, samples);
      figures.push({
        name: `${name}: p99`,
        unit: 'ms',
        values: samples.map(({ p99 }) => p99),
        target: { atMost: 20 },
      });
    }
  }
  await Promise.all([embedded.stop(), onPostgres.stop()]);
  await database.stop();
  const creates = await createsBeside(bench, count);
  return { figures: [...figures, ...creates.figures], loads: new Map([...loads, ...(creates.loads ?? [])]) };
}

async function createsBeside(bench: Bench, count: number): Promise<Report> {
  const before = await startBefore(bench, 'search', (dataDir) => addPlants(dataDir, count));
  if (!before) return { figures: [] };
  const dataDir = join(bench.folder, 'search-creates');
  mkdirSync(dataDir);
  await (await startService({ dataDir })).stop();
  addPlants(dataDir, count);
  const service = await startService({ dataDir });
  const loads = await compare(
    [
      { name: 'search: creates', server: service, load: spread },
      { name: 'search: creates, version before', server: before, load: spread },
    ],
    roundsOf(bench),
  );
  await Promise.all([service.stop(), before.stop()]);
  const values = ratios(loads, ['search: creates', 'search: creates, version before']);
  const name = `creates with names in no order, ${count} plants, against the version before`;
  return { figures: [{ name, unit: '×', values, target: { atLeast: 0.92 } }], loads };
}

async function disabledWebhook(service: Server): Promise<void> {
  const { id } = await createWebhook(service, 'http://127.0.0.1:9/');
  await askFor(`${service.url}/webhooks/${id}`, { method: 'PATCH', body: '{"enabled":false}' });
}
