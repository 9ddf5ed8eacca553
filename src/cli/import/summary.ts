import { insist, printJson } from '../terminal/terminal.ts';
import type { ImportCounts } from './run.ts';

export type ImportSummary = {
  counts: ImportCounts;
  /** Rows that are not done; undefined when it is not known how many there are. */
  left: number | undefined;
  /** Where the rows are that failed. */
  errors: string;
  seconds: number;
  isStopped: boolean;
  /** Whether the next run reads the same rows: not from a pipe. */
  comesAgain: boolean;
};

/** Says what was done and what to do next. */
export function saySummary({ counts, left, errors, seconds, isStopped, comesAgain }: ImportSummary): void {
  const { added, addedBefore, failed } = counts;
  const rate = Math.round((added + addedBefore + failed) / Math.max(seconds, 0.001));
  insist(
    `${isStopped ? 'Stopped: ' : ''}${rowsText(added)} added${failed > 0 ? `, ${failed} failed` : ''} (${seconds.toFixed(1)} s, ${rate} rows/s).`,
  );
  if (addedBefore > 0) {
    insist(
      `${rowsText(addedBefore)} had been added before, by an import of the same file. To add every row once more: --again`,
    );
  }
  if (failed > 0) {
    const next =
      isStopped && comesAgain
        ? 'finish the import first, then correct them'
        : 'correct them there and import that file';
    insist(`The rows that failed are in ${errors}: ${next}.`);
  }
  if (!isStopped) return;
  insist(
    comesAgain
      ? `${left === undefined ? 'Some rows' : rowsText(left)} to go. To continue, run the same command again, without --again.`
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

/** `1 row`, `2 rows` */
function rowsText(count: number): string {
  return `${count} ${count === 1 ? 'row' : 'rows'}`;
}
