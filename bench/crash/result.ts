import { summary, table } from '../measure/report.ts';
import type { Check } from './check.ts';
import type { Ledger, State } from './ledger.ts';
import type { ReceiverReport } from './receiver.ts';

const SHOWN_VIOLATIONS = 10;

/** The checks as a table, and the first violations of each. */
export function asText(checks: Check[]): string {
  const rows = checks.map(({ name, count, violations }) => [
    name,
    String(count),
    violations.length === 0 ? 'holds' : `${violations.length} VIOLATIONS`,
  ]);
  const details = checks.flatMap(({ name, violations }) =>
    violations.slice(0, SHOWN_VIOLATIONS).map((violation) => `- ${name}: ${violation}`),
  );
  return [table(['what must hold', 'checked', ''], rows), ...details].join('\n');
}

export type Notes = {
  rounds: number;
  seed: number;
  seconds: number;
  /** Milliseconds from each start to the URL. */
  starts: number[];
  ledger: Ledger;
  report: ReceiverReport;
};

/** What happened, in numbers, as a list. */
export function asNotes({ rounds, seed, seconds, starts, ledger, report }: Notes): string {
  const states = Map.groupBy(ledger.entries.values(), ({ state }) => state);
  const count = (state: State) => states.get(state)?.length ?? 0;
  const { retriedCreated, retriedTaken } = ledger.counts;
  const { requests, failed, reset, hung } = report.counts;
  const times = [...report.accepted.values()].flatMap((events) => [...events.values()]);
  const most = times.reduce((max, n) => Math.max(max, n), 0);
  const { median, max } = summary(starts);
  return [
    `${rounds} kills in ${seconds.toFixed(0)} s, seed ${seed}; start to URL ${median.toFixed(0)} ms, at most ${max.toFixed(0)} ms`,
    `creates: ${count('acknowledged')} acknowledged, ${count('exists')} known from a retry, ${count('unknown')} without id and with unknown outcome, ${count('refused')} refused`,
    `retries of unknown creates by id: ${retriedCreated} were created then, ${retriedTaken} were there`,
    `receivers: ${requests} requests; ${failed} answered 500, ${reset} reset, ${hung} left hanging`,
    `duplicates: ${report.repeats.length} of ${times.length} that were accepted came again (at most ${most} times in all)`,
  ]
    .map((line) => `- ${line}`)
    .join('\n');
}
