import { counted, insist, printJson } from '../terminal/terminal.ts';
import type { ImportCounts } from './send-rows.ts';

export type ImportSummary = {
  counts: ImportCounts;
  /** Rows not done yet; undefined when unknown. */
  left: number | undefined;
  errors: string;
  seconds: number;
  isStopped: boolean;
  /** Whether the next run reads the same rows: not from a pipe. */
  comesAgain: boolean;
};

export function saySummary({ counts, left, errors, seconds, isStopped, comesAgain }: ImportSummary): void {
  const { added, addedBefore, failed } = counts;
  const rate = Math.round((added + addedBefore + failed) / Math.max(seconds, 0.001));
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
      isStopped && comesAgain
        ? 'finish the import first, then correct them'
        : 'correct them there and import that file';
    insist(`The failed rows are in ${errors}: ${next}.`);
  }
  if (!isStopped) return;
  insist(
    comesAgain
      ? `${left === undefined ? 'Some rows' : counted(left, 'row')} left. To continue, run the same command again, without --again.`
      : 'An import from a pipe cannot be continued.',
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
