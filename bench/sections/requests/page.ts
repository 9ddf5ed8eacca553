import { askFor } from '../../load/client.ts';
import type { Load } from '../../load/load.ts';
import { type Contender, compare, ratios } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import type { Server } from '../../servers/server.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';

const SMALL = 1000;
const CONNECTIONS = 32;
/** Deep pages are requested in turn, spread over the store, so that they are not all in one page of its cache. */
const DEEP_PAGES = 100;

/**
 * A page of 20 in a large store against a small one. The time of a page is measured on a saturated server: a single
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
    contenders.push(
      { name: `page: first of ${plants}`, server, load: loadOf(['/plants?limit=20']) },
      { name: `page: deep in ${plants}`, server, load: loadOf(await deepPages(server, plants)) },
    );
  }
  const loads = await compare(contenders, roundsOf(bench));
  for (const server of servers.values()) await server.stop();
  // Time is the inverse of the rate.
  const times = (where: string) =>
    ratios(loads, [`page: ${where} ${large}`, `page: ${where} ${SMALL}`], ({ rate }) => 1 / rate);
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
        name: `deep pages of 20: ${large} plants against ${SMALL}`,
        unit: '×',
        values: times('deep in'),
        target,
      },
    ],
    loads,
  };
}

function loadOf(paths: Load['paths']): Load {
  return { method: 'GET', paths, token: TOKEN, connections: CONNECTIONS };
}

/** Walks the list by its `Link` headers and takes a page of 20 at each stop. */
async function deepPages(server: Server, plants: number): Promise<Load['paths']> {
  const step = Math.floor(plants / (DEEP_PAGES + 1));
  const first = await nextPage(`${server.url}/plants?limit=${step}`);
  const paths: [string, ...string[]] = [deepPage(first)];
  for (let next = first; paths.length < DEEP_PAGES; ) {
    next = await nextPage(new URL(next, server.url).href);
    paths.push(deepPage(next));
  }
  return paths;
}

async function nextPage(url: string): Promise<string> {
  const { headers } = await askFor(url);
  const next = /<([^>]+)>; rel="next"/.exec(String(headers.link))?.[1];
  if (next === undefined) throw new Error(`${url} has no next page`);
  return next;
}

function deepPage(next: string): string {
  const { pathname, searchParams } = new URL(next, 'http://localhost');
  searchParams.set('limit', '20');
  return `${pathname}?${searchParams}`;
}
