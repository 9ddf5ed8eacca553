import { imports } from '../limits.ts';
import { barOf } from '../terminal/progress.ts';
import { columnsOf, isWatched, replaceLine, say } from '../terminal/terminal.ts';
import { roughDuration } from '../terminal/time.ts';

export type ImportState = {
  /** Rows that are done. */
  rows: number;
  failed: number;
  /** Rows of the file; undefined when it cannot be known before its end. */
  of: number | undefined;
};

/** What a person sees of an import while it runs. */
export type ImportProgress = {
  /** Says something that stays. */
  note(text: string): void;
  /** Takes the bar away. */
  end(): void;
};

/**
 * A bar on a terminal, now and then a line elsewhere.
 *
 * @param state asked whenever something is shown
 */
export function showImportProgress(state: () => ImportState): ImportProgress {
  const beganAt = performance.now();
  const pace = () => paceText(state(), performance.now() - beganAt);
  const bar = () => {
    const { rows, of } = state();
    const shown = of === undefined ? '' : `${barOf(of === 0 ? 1 : rows / of, 24)}  `;
    // A line that is longer than the terminal would stay when it is replaced.
    replaceLine(`${shown}${pace()}`.slice(0, columnsOf('said') - 1));
  };
  const line = () => say(pace());
  const isTerminal = isWatched();
  const { terminal, lines } = imports.progressMs;
  const timer = setInterval(isTerminal ? bar : line, isTerminal ? terminal : lines);
  timer.unref();

  return {
    note(text) {
      if (isTerminal) replaceLine('');
      say(text);
      if (isTerminal) bar();
    },
    end() {
      clearInterval(timer);
      if (isTerminal) replaceLine('');
    },
  };
}

/** `43210 of 100000 rows, 8112 rows/s, 7s left, 3 failed` */
function paceText({ rows, of, failed }: ImportState, ms: number): string {
  const rate = (1000 * rows) / Math.max(ms, 1);
  const parts = [of === undefined ? `${rows} rows` : `${rows} of ${of} rows`, `${Math.round(rate)} rows/s`];
  if (of !== undefined && rate > 0) parts.push(`${roughDuration(((of - rows) / rate) * 1000)} left`);
  if (failed > 0) parts.push(`${failed} failed`);
  return parts.join(', ');
}
