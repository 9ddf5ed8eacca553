import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Load } from '../../load/load.ts';
import { sendOpenLoad } from '../../load/open-loop.ts';
import { againstBefore, startBefore } from '../../measure/before.ts';
import { compare, ratios } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import type { Server } from '../../servers/server.ts';
import { startReference, startService, TOKEN } from '../../servers/service.ts';
import { addPlants, filledStore } from '../../stores/fill.ts';
import { createLoad } from './create.ts';

const CONNECTIONS = 32;
const PLANTS = 1000;
const CREATES_PER_SECOND = 500;

/** The first page of 20 plants against the limit and the version before. */
export async function list(bench: Bench): Promise<Report> {
  const folder = join(bench.folder, 'list');
  mkdirSync(folder);
  const service = await startService({ dataDir: await filledStore(folder, PLANTS) });
  const before = await startBefore(bench, 'list', (dataDir) => addPlants(dataDir, PLANTS));
  const bare = await startReference('bare');
  const load: Load = { method: 'GET', paths: ['/plants?limit=20'], token: TOKEN, connections: CONNECTIONS };
  const meanwhile = (seconds: number) => createBeside(service, seconds);
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
      { name: 'list: with creates', server: service, load, meanwhile },
    ],
    roundsOf(bench),
  );
  await Promise.all([service.stop(), before?.stop(), bare.stop()]);
  const against = (name: string) => ratios(loads, [`list: ${name}`, 'list: bare node:http']);
  return {
    figures: [
      {
        name: `GET /plants?limit=20, ${CONNECTIONS} connections, against bare node:http`,
        unit: '×',
        values: against('service'),
        target: { atLeast: 0.8 },
      },
      {
        name: 'the same, read from the store each time',
        unit: '×',
        values: against('read from the store'),
        target: { atLeast: 0.6 },
      },
      {
        name: 'the same, answered 304',
        unit: '×',
        values: against('304'),
        target: { atLeast: 0.85 },
      },
      {
        name: `GET /plants?limit=20 with ${CREATES_PER_SECOND} creates/s by the same user, against bare node:http`,
        unit: '×',
        values: against('with creates'),
        target: { atLeast: 0.6 },
      },
      ...againstBefore(loads, 'list'),
    ],
    loads,
  };
}

/** Throws when a create fails, or the generator sends far fewer. */
async function createBeside({ url }: Server, seconds: number): Promise<void> {
  const { paths, ...load } = createLoad;
  const rate = { perSecond: CREATES_PER_SECOND, seconds, connections: 8, mostConnections: 64 };
  const { sent, statuses } = await sendOpenLoad(url, { ...load, ...rate, path: paths[0] });
  const created = statuses[201] ?? 0;
  if (created < sent || sent < 0.9 * CREATES_PER_SECOND * seconds) {
    throw new Error(`list: ${created} plants were created by ${sent} requests in ${seconds} s`);
  }
}
