import type { Check } from '../crash/check.ts';

/** The result of a program: what must hold, and what happened, a sentence a line. */
export type Findings = { checks: Check[]; notes: string[] };

/** The settings of each program. */
export type Plan = {
  rounds: number;
  /** Determines moments and requests; which operations they hit depends on the machine. */
  random: () => number;
  /** Whether to be quick: less load, shorter waits, and no long silences. */
  isQuick: boolean;
  /** The folder of another version of the program. */
  before?: string | undefined;
};

/** What does not hold, a sentence each. A program that checked nothing has shown nothing. */
export function violationsIn({ checks }: Findings): string[] {
  if (checks.length === 0) return ['nothing was checked'];
  return checks.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`));
}
