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

/**
 * Loads the contenders in turn, A B C A B C …, so that whatever else happens on the machine meets all of
 * them. The samples of one round belong together; those of the warm-up are thrown away.
 */
export async function compare(contenders: Contender[], rounds: Rounds): Promise<Map<string, Sample[]>> {
  for (const contender of contenders) await sample(contender, rounds.warmUpSeconds);
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds.rounds; round++) {
    for (const contender of contenders) {
      samples.get(contender.name)?.push(await sample(contender, rounds.seconds));
    }
  }
  return samples;
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
