import {
  accessSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { csvLine } from '../../import/csv.ts';
import { unwritable } from '../atomic-file.ts';
import { Failure } from '../failure.ts';
import { systemReasonOrCode } from '../service/system-failure.ts';
import { visible } from '../terminal/terminal.ts';
import { headOf } from './marker.ts';
import type { ImportRow } from './rows.ts';

export type ErrorReport = ReturnType<typeof createErrorReport>;

const HEADER = /^(?:(?:id|name|tag)[,;\t])+line[,;\t]error\n/;

/**
 * Throws a `Failure` when a report exists, since someone may be correcting it, or cannot be created. Removes what an
 * earlier run with the same rows reported, since this run reports it again.
 * @param comesAgain whether the next run reads the same rows: not from a pipe
 */
export function prepareReport(path: string, comesAgain: boolean): void {
  refuseOldReport(path);
  refuseUnwritable(path);
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
      ? `${path} is a link, which imports do not follow. Remove it, or pass another file with --errors.`
      : `${path} already exists, with rows that failed earlier. Import or remove it, or pass another file with --errors.`,
  );
}

/** Asked before rows are sent: those from a pipe could not be sent again without adding them twice. */
function refuseUnwritable(path: string): void {
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw unwritable(path, error, 'Pass another file with --errors.');
  }
}

/**
 * The rows that failed, to be corrected and imported again. The first one creates the file. It has a name of its own
 * until the import is done: a resumed import reports the same rows again.
 */
export function createErrorReport(path: string) {
  const draft = draftOf(path);
  let fd: number | undefined;

  return {
    /**
     * Throws a `Failure` when the row cannot be written.
     * @param error a message for a person, escaped here
     */
    add({ row, cells, titles, delimiter }: ImportRow, error: string): void {
      const text = csvLine([...cells(), String(row.line), visible(error)], delimiter);
      try {
        const header = fd === undefined ? csvLine([...titles, 'line', 'error'], delimiter) : '';
        // `wx` follows no link and appends to nobody else's file.
        fd ??= openSync(draft, 'wx', 0o600);
        writeFileSync(fd, header + text);
      } catch (cause) {
        throw new Failure(
          `Failed rows cannot be written to ${draft}: ${systemReasonOrCode(cause)}. Fix that, then run the same command again.`,
          { cause },
        );
      }
    },
    /**
     * Closes the report and returns its path. When done, gives it its final name; throws a `Failure` when that name is
     * taken.
     */
    end(isDone: boolean): string {
      if (fd !== undefined) closeSync(fd);
      if (fd === undefined || !isDone) return draft;
      refuseOldReport(path);
      renameSync(draft, path);
      return path;
    },
  };
}

function draftOf(path: string): string {
  return `${path}.part`;
}
