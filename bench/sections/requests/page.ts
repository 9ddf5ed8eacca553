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

/**
 * A page of 20 in a large store against the same in a small one: the first, and from any plant, before and after the
 * large one has streamed long lists. No list is kept in memory. The time of a page is measured on a saturated server: a
 * single connection would measure mostly the loopback, which makes both look alike.
 */
export async function page(bench: Bench): Promise<Report> {
  const large = bench.quick ? 1_000_000 : 10_000_000;
  const start = async (plants: number) =>
    startService({
      dataDir: await filledStore(bench.folder, plants),
      env: loadingFirst('without-kept-lists'),
    });
  const [small, server] = [await start(SMALL), await start(large)];
  const contenders = (when: string): Contender[] => [
    { name: `page: first of ${SMALL}${when}`, server: small, load: loadOf('/plants?limit=20') },
    { name: `page: first of ${large}${when}`, server, load: loadOf('/plants?limit=20') },
    { name: `page: any of ${SMALL}${when}`, server: small, load: loadFrom(SMALL) },
    { name: `page: any of ${large}${when}`, server, load: loadFrom(large) },
  ];
  const before = await compare(contenders(''), roundsOf(bench));
  for (let i = 0; i < LONG_LISTS; i++) {
    await askFor(`${server.url}/plants?limit=${LONG}&from=${(i * large) / LONG_LISTS}`);
  }
  const streamed = ', after long lists';
  const after = await compare(contenders(streamed), roundsOf(bench));
  await Promise.all([small.stop(), server.stop()]);
  return {
    figures: [...figuresOf(before, large, ''), ...figuresOf(after, large, streamed)],
    loads: new Map([...before, ...after]),
  };
}

/** Pages from a random plant on. */
const loadFrom = (plants: number) => loadOf(`/plants?limit=20&from={id%${plants}}`);

function loadOf(path: string): Load {
  return { method: 'GET', paths: [path], token: TOKEN, connections: CONNECTIONS };
}

function figuresOf(loads: Map<string, Sample[]>, large: number, when: string): Figure[] {
  // Time is the inverse of the rate.
  const times = (kind: string) =>
    ratios(
      loads,
      [`page: ${kind} of ${large}${when}`, `page: ${kind} of ${SMALL}${when}`],
      ({ rate }) => 1 / rate,
    );
  const against = `${large} plants against ${SMALL}${when}`;
  const target = { atMost: 1.1 };
  return [
    { name: `first page of 20: ${against}`, unit: '×', values: times('first'), target },
    { name: `page of 20 from any plant: ${against}`, unit: '×', values: times('any'), target },
  ];
}
