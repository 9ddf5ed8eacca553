import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Load } from '../../load/load.ts';
import { againstBefore, startBefore } from '../../measure/before.ts';
import { compare, ratios } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { startReference, startService, TOKEN } from '../../servers/service.ts';
import { addPlants, filledStore } from '../../stores/fill.ts';

const CONNECTIONS = 32;
const PLANTS = 1000;

/** The first page of 20 plants against the limit and the version before. */
export async function list(bench: Bench): Promise<Report> {
  const referenceDir = join(bench.folder, 'list-reference');
  mkdirSync(referenceDir);
  const service = await startService({ dataDir: await filledStore(bench.folder, PLANTS) });
  const before = await startBefore(bench, 'list', (dataDir) => addPlants(dataDir, PLANTS));
  const bare = await startReference('bare', { dataDir: referenceDir });
  const load: Load = { method: 'GET', paths: ['/plants?limit=20'], token: TOKEN, connections: CONNECTIONS };
  const loads = await compare(
    [
      { name: 'list: service', server: service, load },
      ...(before ? [{ name: 'list: version before', server: before, load }] : []),
      { name: 'list: bare node:http', server: bare, load },
      // Each of these lists begins with the first plant, and is requested once.
      {
        name: 'list: read from the store',
        server: service,
        load: { ...load, paths: ['/plants?limit=20&from=-{id%1000000000}'] },
      },
      { name: 'list: 304', server: service, load: { ...load, header: 'If-None-Match: *' } },
    ],
    roundsOf(bench),
  );
  await Promise.all([service.stop(), before?.stop(), bare.stop()]);
  return {
    figures: [
      {
        name: `GET /plants?limit=20, ${CONNECTIONS} connections, against bare node:http`,
        unit: '×',
        values: ratios(loads, ['list: service', 'list: bare node:http']),
        target: { atLeast: 0.8 },
      },
      {
        name: 'the same, read from the store each time',
        unit: '×',
        values: ratios(loads, ['list: read from the store', 'list: bare node:http']),
        target: { atLeast: 0.6 },
      },
      {
        name: 'the same, answered 304',
        unit: '×',
        values: ratios(loads, ['list: 304', 'list: bare node:http']),
        target: { atLeast: 0.85 },
      },
      ...againstBefore(loads, 'list'),
    ],
    loads,
  };
}
