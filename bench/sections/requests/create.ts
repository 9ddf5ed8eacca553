import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Load } from '../../load/load.ts';
import { againstBefore, startBefore } from '../../measure/before.ts';
import { compare, ratios } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { startReference, startService, TOKEN } from '../../servers/service.ts';

export const createLoad: Load = {
  method: 'POST',
  paths: ['/plants'],
  body: '{"name":"Black alder","tag":"Alnus glutinosa"}',
  token: TOKEN,
  connections: 64,
};

/** Durable creates against the limit, one INSERT a request, and the version before. */
export async function create(bench: Bench): Promise<Report> {
  const dataDir = join(bench.folder, 'create');
  mkdirSync(dataDir);
  const service = await startService({ dataDir });
  const before = await startBefore(bench, 'create');
  const bare = await startReference('bare', { dataDir });
  const single = await startReference('single-insert', { dataDir });
  const read: Load = { method: 'GET', paths: ['/plants'], token: TOKEN, connections: createLoad.connections };
  const loads = await compare(
    [
      { name: 'create: service', server: service, load: createLoad },
      ...(before ? [{ name: 'create: version before', server: before, load: createLoad }] : []),
      { name: 'create: bare node:http', server: bare, load: createLoad },
      { name: 'create: bare node:http, GET', server: bare, load: read },
      { name: 'create: one INSERT a request', server: single, load: createLoad },
    ],
    roundsOf(bench),
  );
  await Promise.all([service.stop(), before?.stop(), bare.stop(), single.stop()]);
  const against = (reference: string) => ratios(loads, ['create: service', `create: ${reference}`]);
  return {
    figures: [
      {
        name: `durable POST /plants, ${createLoad.connections} connections, against bare node:http`,
        unit: '×',
        values: against('bare node:http'),
        target: { atLeast: 0.55 },
      },
      { name: 'the same, against GETs of bare node:http', unit: '×', values: against('bare node:http, GET') },
      {
        name: 'the same, against one INSERT a request',
        unit: '×',
        values: against('one INSERT a request'),
        target: { atLeast: 6 },
      },
      ...againstBefore(loads, 'create'),
    ],
    loads,
  };
}
