import { cpuSeconds, endedChildrenCpuSeconds, machineCpuSeconds } from './proc.ts';

/** CPU seconds used since the watch began. */
export type Usage = {
  /** Seconds that passed. */
  seconds: number;
  /** Of each watched process, in order. */
  watched: number[];
  /** Of all other processes of the machine, without the benchmark and its children. */
  others: number;
};

/** Measures the CPU use of processes, including all threads. */
export function watchCpu(pids: readonly number[]): () => Usage {
  const start = performance.now();
  const before = read(pids);
  return () => {
    const after = read(pids);
    const watched = after.watched.map((used, i) => used - (before.watched[i] ?? 0));
    const own = after.own - before.own + sum(watched);
    return {
      seconds: (performance.now() - start) / 1000,
      watched,
      others: Math.max(0, after.machine - before.machine - own),
    };
  };
}

/** From this share of a core on, other processes distort the figures. */
export const DISTURBED = 0.1;

/** A note for the report when other processes disturbed the measurement. */
export function remarks(name: string, { others, seconds }: Usage): string[] {
  const share = others / seconds;
  return share > DISTURBED ? [`${name}: other processes took ${(share * 100).toFixed(0)} % of a core`] : [];
}

function read(pids: readonly number[]) {
  return {
    watched: pids.map(cpuSeconds),
    own: cpuSeconds(process.pid) + endedChildrenCpuSeconds(),
    machine: machineCpuSeconds(),
  };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
