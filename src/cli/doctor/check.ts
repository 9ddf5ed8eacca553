import { checks as limits } from '../limits.ts';

/** The result of a check: fine, worth knowing, or keeping the service from working. */
export type Verdict = 'ok' | 'warning' | 'problem';

export type Finding = { name: string; verdict: Verdict; text: string; advice?: string };

export function ok(name: string, text: string): Finding {
  return { name, verdict: 'ok', text };
}

const withAdvice =
  (verdict: Verdict) =>
  (name: string, text: string, advice: string): Finding => ({ name, verdict, text, advice });
export const warning = withAdvice('warning');
export const problem = withAdvice('problem');

/** The message of an error without its full stop, to use inside a sentence. */
export function reasonIn(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}

/**
 * Compares this machine's clock with another, since signatures, expiry times and the order of events depend on it.
 * @param whose names the other clock
 * @param precisionMs the resolution of the other clock plus the time it took to ask
 */
export function compareClocks(whose: string, aheadMs: number, precisionMs: number): Finding {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) - precisionMs < limits.clockMs) return ok('Clock', `agrees with ${whose}`);
  return warning(
    'Clock',
    `is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ${whose}`,
    'Synchronize both clocks with NTP: timedatectl shows whether this machine does.',
  );
}
