import type { Report } from './report.ts';

/** One part of the benchmark: it measures a few figures and leaves nothing running. */
export type Section = (bench: Bench) => Promise<Report>;

export type Bench = {
  /** Fewer and shorter rounds: for a trial, not for quoting. */
  quick: boolean;
  /** For stores; removed at the end. */
  folder: string;
  /** The folder of the version before, which some sections measure side by side. */
  before: string | undefined;
  /** Reports progress on stderr. */
  say(text: string): void;
};

/** The rounds of a comparison. */
export function roundsOf({ quick }: Bench) {
  return quick ? { rounds: 2, seconds: 1, warmUpSeconds: 2 } : { rounds: 5, seconds: 3, warmUpSeconds: 4 };
}
