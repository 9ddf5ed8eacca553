import { askFor } from '../../load/client.ts';
import type { Load } from '../../load/load.ts';
import { type Contender, compare, ratios, type Sample } from '../../measure/compare.ts';
import type { Figure, Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { loadingFirst, startService, TOKEN } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';

const SMALL = 1000;
const CONNECTIONS = 32;
/** Plants of a long list, which is streamed, and how many such lists. */
const LONG = 100_000;
const LONG_LISTS = 20;

/** The pages compared, by what the figure calls them. */
const KINDS = {
  'first page of 20': () => '/plants?limit=20',
  'page of 20, newest first': () => '/plants?limit=20&order=desc',
  'page of 20 of a search': () => '/plants?limit=20&name=plant+1',
  'page of 20 from any plant': (plants: number) => `/plants?limit=20&from={id%${plants}}`,
};

/**
 * Pages of 20 in a large store against the same in a small one, before and after the large one has streamed long lists.
 * No list is kept in memory. The time of a page is measured on a saturated server: a single connection would measure
 * mostly the loopback, which makes both look alike.
 */
export async function page(bench: Bench): Promise<Report> {
  const large = bench.quick ? 1_000_000 : 10_000_000;
  const start = async (plants: number) => ({
    plants,
    server: await startService({
      dataDir: await filledStore(bench.folder, plants),
      env: loadingFirst('without-kept-lists'),
    }),
  });
  const stores = [await start(SMALL), await start(large)];
  const contenders = (when: string) =>
    Object.entries(KINDS).flatMap(([kind, pathOf]) =>
      stores.map(({ plants, server }): Contender => {
        return { name: nameOf(kind, plants, when), server, load: loadOf(pathOf(plants)) };
      }),
    );
  const before = await compare(contenders(''), roundsOf(bench));
  for (let i = 0; i < LONG_LISTS; i++) {
    await askFor(`${stores[1]?.server.url}/plants?limit=${LONG}&from=${(i * large) / LONG_LISTS}`);
  }
  const streamed = ', after long lists';
  const after = await compare(contenders(streamed), roundsOf(bench));
  await Promise.all(stores.map(({ server }) => server.stop()));
  return {
    figures: [...figuresOf(before, large, ''), ...figuresOf(after, large, streamed)],
    loads: new Map([...before, ...after]),
  };
}

function nameOf(kind: string, plants: number, when: string): string {
  return `${kind}: ${plants} plants${when}`;
}

function loadOf(path: string): Load {
  return { method: 'GET', paths: [path], token: TOKEN, connections: CONNECTIONS };
}

function figuresOf(loads: Map<string, Sample[]>, large: number, when: string): Figure[] {
  return Object.keys(KINDS).map((kind) => ({
    name: `${kind}: ${large} plants against ${SMALL}${when}`,
    unit: '×',
    // Time is the inverse of the rate.
    values: ratios(loads, [nameOf(kind, large, when), nameOf(kind, SMALL, when)], ({ rate }) => 1 / rate),
    target: { atMost: 1.1 },
  }));
}
