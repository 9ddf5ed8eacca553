import { closeSync, lstatSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { csvLine } from '../../import/csv.ts';
import { Failure } from '../failure.ts';
import { systemReasonOrCode } from '../service/system-failure.ts';
import { visible } from '../terminal/terminal.ts';
import { headOf } from './marker.ts';
import type { ImportRow } from './rows.ts';

/** The rows that failed, which can be corrected and imported as they are. The file is created with the first of them. */
export type ErrorReport = {
  /**
   * Throws a `Failure` when the row cannot be written.
   *
   * @param error for a person, and so shown safely
   */
  add(row: ImportRow, error: string): void;
  /** Where the rows are by now. */
  path(): string;
  /** Closes it and, when it is done, gives it its name. Throws a `Failure` when something else has taken that. */
  end(isDone: boolean): void;
};

const HEADER = /^(?:(?:id|name|tag),)+line,error\n/;

/**
 * Throws a `Failure` when there is a report already: somebody may be correcting it. What an earlier run with the same
 * rows has reported is removed, since this one reports it again.
 *
 * @param comesAgain whether the next run reads the same rows: not from a pipe
 */
export function prepareReport(path: string, comesAgain: boolean): void {
  refuseOldReport(path);
  const draft = draftOf(path);
  if (!comesAgain) refuseOldReport(draft);
  const head = headOf(draft, 64);
  if (head === undefined) return;
  if (head !== '' && !HEADER.test(head)) {
    throw new Failure(`${draft} is not a report of failed rows. Rename or remove it.`);
  }
  rmSync(draft);
}

function refuseOldReport(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.isFile() && found.size === 0)) return;
  throw new Failure(
    found.isSymbolicLink()
      ? `${path} is a link, which is not followed. Remove it, or name another file with --errors.`
      : `${path} already exists, with the rows that failed earlier. Import or remove it, or name another file with --errors.`,
  );
}

/**
 * The report has a name of its own until the import is done, because an import that stopped reports the same rows again
 * when it goes on.
 */
export function createErrorReport(path: string): ErrorReport {
  const draft = draftOf(path);
  let fd: number | undefined;
  let place = draft;

  return {
    add({ row, cells, titles }, error) {
      const text = csvLine([...cells(), String(row.line), visible(error)]);
      try {
        const header = fd === undefined ? csvLine([...titles, 'line', 'error']) : '';
        // It follows no link, and adds to no file that somebody else has put there.
        fd ??= openSync(draft, 'wx', 0o600);
        writeFileSync(fd, header + text);
      } catch (cause) {
        throw new Failure(
          `The rows that fail cannot be written to ${draft}: ${systemReasonOrCode(cause)}. Correct that, then run the same command again.`,
          { cause },
        );
      }
    },
    path: () => place,
    end(isDone) {
      if (fd === undefined) return;
      closeSync(fd);
      if (!isDone) return;
      refuseOldReport(path);
      renameSync(draft, path);
      place = path;
    },
  };
}

function draftOf(path: string): string {
  return `${path}.part`;
}
