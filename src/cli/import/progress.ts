import { imports } from '../limits.ts';
import { barOf } from '../terminal/progress.ts';
import { counted, insist, isWatched, printJson, replaceLine, say } from '../terminal/terminal.ts';
import { roughDuration } from '../terminal/time.ts';
import { type ImportCounts, rowsDone } from './send-rows.ts';

/**
 * A bar on a terminal, a line every few seconds elsewhere.
 * @param counts read for each update
 * @param of rows of the file; undefined when unknown before its end
 */
export function showImportProgress(counts: Readonly<ImportCounts>, of: number | undefined) {
  const beganAt = performance.now();
  const pace = () => paceText(counts, of, performance.now() - beganAt);
  const bar = () => {
    const shown = of === undefined ? '' : `${barOf(of === 0 ? 1 : rowsDone(counts) / of, 24)}  `;
    replaceLine(`${shown}${pace()}`);
  };
  const line = () => say(pace());
  const { terminal, lines } = imports.progressMs;
  const timer = isWatched() ? setInterval(bar, terminal) : setInterval(line, lines);
  timer.unref();

  return {
    note(text: string): void {
      replaceLine('');
      say(text);
      bar();
    },
    end(): void {
      clearInterval(timer);
      replaceLine('');
    },
  };
}

/** `43210 of 100000 rows, 8112 rows/s, 7s left, 3 failed` */
function paceText(counts: Readonly<ImportCounts>, of: number | undefined, ms: number): string {
  const rows = rowsDone(counts);
  const rate = (1000 * rows) / Math.max(ms, 1);
  const parts = [of === undefined ? `${rows} rows` : `${rows} of ${of} rows`, `${Math.round(rate)} rows/s`];
  if (of !== undefined && rate > 0) parts.push(`${roughDuration(((of - rows) / rate) * 1000)} left`);
  if (counts.failed > 0) parts.push(`${counts.failed} failed`);
  return parts.join(', ');
}

export type ImportSummary = {
  counts: ImportCounts;
  /** Rows not done yet; undefined for a pipe. */
  left: number | undefined;
  errors: string;
  seconds: number;
  isStopped: boolean;
};

export function saySummary({ counts, left, errors, seconds, isStopped }: ImportSummary): void {
  const { added, addedBefore, failed } = counts;
  const rate = Math.round(rowsDone(counts) / Math.max(seconds, 0.001));
  insist(
    `${isStopped ? 'Stopped: ' : ''}${counted(added, 'row')} added${failed > 0 ? `, ${failed} failed` : ''} (${seconds.toFixed(1)} s, ${rate} rows/s).`,
  );
  if (addedBefore > 0) {
    insist(
      `${counted(addedBefore, 'row')} had already been added by an earlier import of this file. To add every row again: --again`,
    );
  }
  if (failed > 0) {
    const next =
      isStopped && left !== undefined
        ? 'finish the import first, then correct them'
        : 'correct them there and import that file';
    insist(`The failed rows are in ${errors}: ${next}.`);
  }
  if (!isStopped) return;
  insist(
    left === undefined
      ? 'An import from a pipe cannot be continued.'
      : `${counted(left, 'row')} left. To continue, run the same command again, without --again.`,
  );
}

export function printSummary({ counts, left, errors, seconds, isStopped }: ImportSummary): void {
  printJson({
    complete: !isStopped && counts.failed === 0,
    ...counts,
    left: left ?? null,
    errors: counts.failed > 0 ? errors : null,
    seconds: Math.round(seconds * 1000) / 1000,
  });
}
