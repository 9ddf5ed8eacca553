import { askFor } from '../../load/client.ts';
import type { Load } from '../../load/load.ts';
import { type Contender, compare, ratios, type Sample } from '../../measure/compare.ts';
import type { Figure, Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';

const SMALL = 1000;
const CONNECTIONS = 32;
/** All ids are positive, so each of these begins with the first plant. */
const FIRST = '/plants?limit=20&from=-{id%1000000000}';
/** Plants of a long list, which is streamed, and how many such lists. */
const LONG = 100_000;
const LONG_LISTS = 20;

/**
 * A page of 20 in a large store against the first of a small one, before and after the large one has streamed long
 * lists. Each list is requested once, so none comes from memory. The time of a page is measured on a saturated server:
 * a single connection would measure mostly the loopback, which makes both look alike.
 */
export async function page(bench: Bench): Promise<Report> {
  const large = bench.quick ? 1_000_000 : 10_000_000;
  const small = await startService({ dataDir: await filledStore(bench.folder, SMALL) });
  const server = await startService({ dataDir: await filledStore(bench.folder, large) });
  const contenders = (when: string): Contender[] => [
    { name: `page: first of ${SMALL}${when}`, server: small, load: loadOf(FIRST) },
    { name: `page: first of ${large}${when}`, server, load: loadOf(FIRST) },
    { name: `page: deep in ${large}${when}`, server, load: loadOf(`/plants?limit=20&from={id%${large}}`) },
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

function loadOf(path: string): Load {
  return { method: 'GET', paths: [path], token: TOKEN, connections: CONNECTIONS };
}

function figuresOf(loads: Map<string, Sample[]>, large: number, when: string): Figure[] {
  // Time is the inverse of the rate.
  const times = (name: string) =>
    ratios(loads, [`page: ${name}${when}`, `page: first of ${SMALL}${when}`], ({ rate }) => 1 / rate);
  const against = `${large} plants against the first of ${SMALL}${when}`;
  const target = { atMost: 1.1 };
  return [
    { name: `first page of 20: ${against}`, unit: '×', values: times(`first of ${large}`), target },
    { name: `deep pages of 20: ${against}`, unit: '×', values: times(`deep in ${large}`), target },
  ];
}
