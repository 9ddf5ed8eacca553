import { type Load, type LoadResult, sendLoad } from '../load/load.ts';
import type { Server } from '../servers/server.ts';
import { DISTURBED, watchCpu } from './usage.ts';

/** A server to compare, and its load. */
export type Contender = {
  name: string;
  server: Server;
  load: Load;
  /** What the server does besides for so many seconds: only its CPU time counts. */
  meanwhile?: (seconds: number) => Promise<void>;
};

export type Sample = LoadResult & {
  /** Answers a second. */
  rate: number;
  /** Microseconds of the server's CPU time per answer. */
  cpuPerAnswer: number;
  /** Share of a core: 1 is a fully busy core. */
  serverBusy: number;
  generatorBusy: number;
  /** What all other processes of the machine used meanwhile. */
  othersBusy: number;
};

export type Rounds = { rounds: number; seconds: number; warmUpSeconds: number };

/** A disturbed round is repeated; a comparison takes at most this many times its rounds. */
const PATIENCE = 3;

/**
 * Loads the contenders in turn, A B C A B C …, so that disturbances affect all of them. The samples of one round
 * belong together; those of the warm-up are discarded.
 */
export async function compare(contenders: Contender[], options: Rounds): Promise<Map<string, Sample[]>> {
  for (const contender of contenders) await sample(contender, options.warmUpSeconds);
  const named = contenders.map(
    (contender) => [contender.name, () => sample(contender, options.seconds)] as const,
  );
  return interleave(new Map(named), options.rounds);
}

/** Takes the samples in turn, like `compare`, without a warm-up. */
export async function interleave(
  contenders: Map<string, () => Promise<Sample>>,
  count: number,
): Promise<Map<string, Sample[]>> {
  const rounds: Sample[][] = [];
  let disturbed: Sample[][] = [];
  while (rounds.length + disturbed.length < count * PATIENCE && rounds.length < count) {
    const round: Sample[] = [];
    for (const take of contenders.values()) round.push(await take());
    (round.some(({ othersBusy }) => othersBusy > DISTURBED) ? disturbed : rounds).push(round);
  }
  // Better a doubtful figure, with a warning in the report, than none.
  disturbed = disturbed.slice(0, count - rounds.length);
  const samples = [...rounds, ...disturbed];
  return new Map([...contenders.keys()].map((name, i) => [name, samples.flatMap((round) => round[i] ?? [])]));
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
export async function sample({ name, server, load, meanwhile }: Contender, seconds: number): Promise<Sample> {
  const stop = watchCpu([server.pid]);
  const [result] = await Promise.all([sendLoad(server.url, load, seconds), meanwhile?.(seconds)]);
  const usage = stop();
  if (result.failures > 0) {
    throw new Error(`${name}: ${result.failures} of ${result.requests} requests failed`);
  }
  const [used = 0] = usage.watched;
  return {
    ...result,
    rate: result.requests / result.seconds,
    cpuPerAnswer: (used / result.requests) * 1e6,
    serverBusy: used / usage.seconds,
    generatorBusy: result.cpuSeconds / usage.seconds,
    othersBusy: usage.others / usage.seconds,
  };
}
