import { type OpenLoadResult, sendOpenLoad } from '../../load/open-loop.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import type { Server } from '../../servers/server.ts';
import { createLoad } from '../requests/create.ts';

/** The share of its own peak at which a server is loaded. */
const SHARE = 0.8;
/** Enough for a pause of 100 ms. */
const CONNECTIONS = { connections: 256, mostConnections: 2_000 };

/** `peak`: creates a second at best. */
type Contender = { name: string; server: Server; peak: number };

/**
 * p99 of creates that are sent at a fixed rate, as independent clients do, by the service and a reference in turn. From
 * sending (uncorrected), and from when each was due (corrected), which includes how late the generator was.
 */
export async function tails(bench: Bench, contenders: readonly [Contender, Contender]): Promise<Report> {
  const { rounds, seconds } = bench.quick ? { rounds: 2, seconds: 2 } : { rounds: 5, seconds: 10 };
  const taken: [OpenLoadResult, OpenLoadResult][] = [];
  const [mine, reference] = contenders;
  for (let round = 0; round < rounds; round++) {
    taken.push([await sendTo(mine, seconds), await sendTo(reference, seconds)]);
  }
  return {
    figures: [
      ...figuresOf('uncorrected', taken, ({ good }) => good.p99),
      ...figuresOf('corrected', taken, ({ goodSinceDue }) => goodSinceDue.p99),
    ],
    notes: contenders.flatMap(({ name, peak }, i) =>
      notesOf(
        name,
        peak,
        taken.flatMap((round) => round[i] ?? []),
      ),
    ),
  };
}

function sendTo({ server, peak }: Contender, seconds: number): Promise<OpenLoadResult> {
  const { paths, ...load } = createLoad;
  return sendOpenLoad(server.url, {
    ...load,
    ...CONNECTIONS,
    path: paths[0],
    perSecond: SHARE * peak,
    seconds,
  });
}

function figuresOf(
  which: string,
  taken: [OpenLoadResult, OpenLoadResult][],
  p99: (result: OpenLoadResult) => number,
): Figure[] {
  return [
    {
      name: `PostgreSQL: p99 of creates against Fastify and pg, each at ${SHARE * 100} % of its own peak, ${which}`,
      unit: '×',
      values: taken.map(([mine, reference]) => p99(mine) / p99(reference)),
      target: { atMost: 1 },
    },
    { name: `the same, of the service, ${which}`, unit: 'ms', values: taken.map(([mine]) => p99(mine)) },
    {
      name: `the same, of Fastify and pg, ${which}`,
      unit: 'ms',
      values: taken.map(([, other]) => p99(other)),
    },
  ];
}

function notesOf(name: string, peak: number, results: OpenLoadResult[]): string[] {
  const total = (figure: (result: OpenLoadResult) => number) =>
    results.reduce((sum, one) => sum + figure(one), 0);
  const sent = total((result) => result.sent);
  const unanswered = sent - total(({ statuses }) => statuses[201] ?? 0) + total(({ unsent }) => unsent);
  const late = Math.max(...results.map(({ lateness }) => lateness.p99));
  return [
    `${name}: ${sent} creates at ${(SHARE * peak).toFixed(0)}/s, ${unanswered} not sent or without a 201; the generator was at most ` +
      `${late.toFixed(1)} ms late (p99)`,
  ];
}
