import type { Check } from '../crash/verify.ts';

/** What a program found: what must hold, and what happened meanwhile, a sentence a line. */
export type Findings = { checks: Check[]; notes: string[] };

/** What each program is told. */
export type Plan = {
  rounds: number;
  /** Decides moments and requests; what they meet is up to the machine. */
  random: () => number;
  /** Whether nothing may take long: there is less of everything, it is waited less, and nobody is silent for long. */
  isQuick: boolean;
};

/** What does not hold, a sentence each. */
export function violationsIn({ checks }: Findings): string[] {
  return checks.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`));
}
