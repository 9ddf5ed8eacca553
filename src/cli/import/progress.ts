import { imports } from '../limits.ts';
import { barOf } from '../terminal/progress.ts';
import { columnsOf, isWatched, replaceLine, say } from '../terminal/terminal.ts';
import { roughDuration } from '../terminal/time.ts';

type ImportState = {
  rows: number;
  failed: number;
  /** Rows of the file; undefined when unknown before its end. */
  of: number | undefined;
};

/**
 * A bar on a terminal, a line every few seconds elsewhere.
 *
 * @param state called for each update
 */
export function showImportProgress(state: () => ImportState) {
  const beganAt = performance.now();
  const pace = () => paceText(state(), performance.now() - beganAt);
  const bar = () => {
    const { rows, of } = state();
    const shown = of === undefined ? '' : `${barOf(of === 0 ? 1 : rows / of, 24)}  `;
    // A line wider than the terminal could not be replaced.
    replaceLine(`${shown}${pace()}`.slice(0, columnsOf('said') - 1));
  };
  const line = () => say(pace());
  const isTerminal = isWatched();
  const { terminal, lines } = imports.progressMs;
  const timer = setInterval(isTerminal ? bar : line, isTerminal ? terminal : lines);
  timer.unref();

  return {
    note(text: string): void {
      if (isTerminal) replaceLine('');
      say(text);
      if (isTerminal) bar();
    },
    end(): void {
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
