import type { Load } from '../../load/load.ts';
import { type Contender, compare, ratios } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import type { Server } from '../../servers/server.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';

const SMALL = 1000;
const CONNECTIONS = 32;
/** All ids are positive, so each of these begins with the first plant. */
const FIRST = '/plants?limit=20&from=-{id%1000000000}';

/**
 * A page of 20 in a large store against the first of a small one. Each list is requested once, so none comes from
 * memory. The time of a page is measured on a saturated server: a single
 * connection would measure mostly the loopback, which makes both look alike.
 */
export async function page(bench: Bench): Promise<Report> {
  const large = bench.quick ? 1_000_000 : 10_000_000;
  const stores = [SMALL, large] as const;
  const servers = new Map<number, Server>();
  const contenders: Contender[] = [];
  for (const plants of stores) {
    const server = await startService({ dataDir: await filledStore(bench.folder, plants) });
    servers.set(plants, server);
    contenders.push({ name: `page: first of ${plants}`, server, load: loadOf(FIRST) });
    if (plants === SMALL) continue;
    contenders.push({
      name: `page: deep in ${plants}`,
      server,
      load: loadOf(`/plants?limit=20&from={id%${plants}}`),
    });
  }
  const loads = await compare(contenders, roundsOf(bench));
  for (const server of servers.values()) await server.stop();
  // Time is the inverse of the rate.
  const times = (where: string) =>
    ratios(loads, [`page: ${where} ${large}`, `page: first of ${SMALL}`], ({ rate }) => 1 / rate);
  const target = { atMost: 1.3 };
  return {
    figures: [
      {
        name: `first page of 20: ${large} plants against ${SMALL}`,
        unit: '×',
        values: times('first of'),
        target,
      },
      {
        name: `deep pages of 20: ${large} plants against the first of ${SMALL}`,
        unit: '×',
        values: times('deep in'),
        target,
      },
    ],
    loads,
  };
}

function loadOf(path: string): Load {
  return { method: 'GET', paths: [path], token: TOKEN, connections: CONNECTIONS };
}
