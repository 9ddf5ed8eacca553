import { type Load, type LoadResult, sendLoad } from './load.ts';
import { cpuSeconds, machineCpuSeconds } from './proc.ts';
import type { Server } from './server.ts';

/** One of the servers that are compared, and the load it gets. */
export type Contender = { name: string; server: Server; load: Load };

export type Sample = LoadResult & {
  /** Answers a second. */
  rate: number;
  /** Microseconds of the server's CPU time for each answer. */
  cpuPerAnswer: number;
  /** Share of a core: 1 is a core that does nothing else. */
  serverBusy: number;
  generatorBusy: number;
  /** What every other process of the machine used meanwhile. */
  othersBusy: number;
};

export type Rounds = { rounds: number; seconds: number; warmUpSeconds: number };

/** From this share of a core on, what others do changes the figures. */
export const DISTURBED = 0.1;
/** A round that others disturbed is measured again; a comparison takes at most so many times its rounds. */
const PATIENCE = 3;

/**
 * Loads the contenders in turn, A B C A B C …, so that whatever else happens on the machine meets all of
 * them. The samples of one round belong together; those of the warm-up are thrown away.
 */
export async function compare(contenders: Contender[], options: Rounds): Promise<Map<string, Sample[]>> {
  for (const contender of contenders) await sample(contender, options.warmUpSeconds);
  const rounds: Sample[][] = [];
  let disturbed: Sample[][] = [];
  while (rounds.length + disturbed.length < options.rounds * PATIENCE && rounds.length < options.rounds) {
    const round: Sample[] = [];
    for (const contender of contenders) round.push(await sample(contender, options.seconds));
    (round.some(({ othersBusy }) => othersBusy > DISTURBED) ? disturbed : rounds).push(round);
  }
  // Better a doubtful figure, which the report warns of, than none.
  disturbed = disturbed.slice(0, options.rounds - rounds.length);
  const samples = [...rounds, ...disturbed];
  return new Map(contenders.map(({ name }, i) => [name, samples.flatMap((round) => round[i] ?? [])]));
}

/** One contender's figure against another's, round by round. */
export function ratios(
  samples: Map<string, Sample[]>,
  [name, against]: [string, string],
  figure: (sample: Sample) => number = ({ rate }) => rate,
): number[] {
  const others = samples.get(against) ?? [];
  return (samples.get(name) ?? []).flatMap((mine, round) => {
    const other = others[round];
    return other ? [figure(mine) / figure(other)] : [];
  });
}

/** Throws when a request failed: a refusal costs less than an answer and would flatter the server. */
export async function sample({ name, server, load }: Contender, seconds: number): Promise<Sample> {
  const before = usage(server);
  const start = performance.now();
  const result = await sendLoad(server.url, load, seconds);
  const elapsed = (performance.now() - start) / 1000;
  const after = usage(server);
  if (result.failures > 0) {
    throw new Error(`${name}: ${result.failures} of ${result.requests} requests failed`);
  }
  const used = after.server - before.server;
  const own = after.self - before.self;
  return {
    ...result,
    rate: result.requests / result.seconds,
    cpuPerAnswer: (used / result.requests) * 1e6,
    serverBusy: used / elapsed,
    generatorBusy: result.cpuSeconds / elapsed,
    othersBusy: Math.max(0, (after.machine - before.machine - used - own - result.cpuSeconds) / elapsed),
  };
}

function usage(server: Server) {
  return { server: cpuSeconds(server.pid), self: cpuSeconds(process.pid), machine: machineCpuSeconds() };
}
