import type { ImportCounts } from './import-journal.ts';
import { insist, printJson } from './terminal.ts';

/** What an import has done, all of its runs together. */
export type ImportSummary = {
  counts: ImportCounts;
  /** Rows that are not done; undefined when it is not known how many there are. */
  left: number | undefined;
  /** Where the rows are that failed. */
  errors: string;
  seconds: number;
  /** Rows that were done in this run. */
  rowsNow: number;
  /** Undefined for one that cannot go on later. */
  journal: string | undefined;
  isStopped: boolean;
};

/** Says what was done and what to do next. */
export function saySummary({
  counts,
  left,
  errors,
  seconds,
  rowsNow,
  journal,
  isStopped,
}: ImportSummary): void {
  const { added, addedBefore, failed } = counts;
  const isGoingOn = isStopped && journal !== undefined;
  const rate = `${seconds.toFixed(1)} s, ${Math.round(rowsNow / Math.max(seconds, 0.001))} rows/s`;
  insist(
    `${isStopped ? 'Stopped: ' : ''}${rowsText(added)} added${failed > 0 ? `, ${failed} failed` : ''} (${rate}).`,
  );
  if (addedBefore > 0) {
    insist(
      `${rowsText(addedBefore)} had been added before, by an import of the same file within a day. To add them once more: --restart`,
    );
  }
  const mend = isGoingOn ? 'go on first, then mend them' : 'mend them there and import that file';
  if (failed > 0) insist(`The rows that failed are in ${errors}: ${mend}.`);
  if (!isStopped) return;
  if (journal === undefined) insist('What came from a pipe cannot be gone on with.');
  else
    insist(
      `${left === undefined ? 'Some' : rowsText(left)} to go: the same command goes on there (${journal} says where).`,
    );
}

/** Prints the same as a JSON object. */
export function printSummary({ counts, left, errors, seconds, journal, isStopped }: ImportSummary): void {
  const { added, addedBefore, failed } = counts;
  const summary = {
    complete: !isStopped && failed === 0,
    added,
    addedBefore,
    failed,
    left: left ?? null,
    errors: failed > 0 ? errors : null,
    journal: isStopped ? (journal ?? null) : null,
    seconds: Math.round(seconds * 1000) / 1000,
  };
  printJson(summary);
}

/** `1 row`, `2 rows` */
export function rowsText(count: number): string {
  return `${count} ${count === 1 ? 'row' : 'rows'}`;
}
