import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Load } from '../../load/load.ts';
import { compare, ratios } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import type { Server } from '../../servers/server.ts';
import { loadingFirst, startService } from '../../servers/service.ts';
import { addUsers, userToken } from '../../stores/fill.ts';

const CONNECTIONS = 32;
const USERS = 10_000;
const PLANTS = 20;

/** First pages of many users, each requested once: what keeping lists costs where it cannot help. */
export async function firstPages(bench: Bench): Promise<Report> {
  const kept = await startWithUsers(bench, 'first-pages', {});
  const unkept = await startWithUsers(bench, 'first-pages-unkept', loadingFirst('without-kept-lists'));
  const load: Load = {
    method: 'GET',
    // Each of these lists begins with the first plant, and is requested once.
    paths: [`/plants?limit=${PLANTS}&from=-{id%1000000000}`],
    token: userToken(`{id%${USERS}}`),
    connections: CONNECTIONS,
  };
  const [mine, other] = ['first-pages: service', 'first-pages: no lists in memory'] as const;
  const contenders = [
    { name: mine, server: kept, load },
    { name: other, server: unkept, load },
  ];
  const loads = await compare(contenders, roundsOf(bench));
  await Promise.all([kept.stop(), unkept.stop()]);
  const name = `first pages of ${USERS} users, each requested once, against no lists in memory`;
  return {
    figures: [{ name, unit: '×', values: ratios(loads, [mine, other]), target: { atLeast: 1 } }],
    loads,
  };
}

async function startWithUsers(bench: Bench, name: string, env: Record<string, string>): Promise<Server> {
  const dataDir = join(bench.folder, name);
  mkdirSync(dataDir);
  // The service creates the schema.
  await (await startService({ dataDir })).stop();
  addUsers(dataDir, USERS, PLANTS);
  return startService({ dataDir, env });
}
