import { closeSync, existsSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { csvLine } from '../import/csv.ts';
import { Failure } from './failure.ts';

/** The report of the rows that failed, which can be mended and imported by itself. Made with its first row. */
export type ErrorReport = {
  /** @param cells what the file has of the row; `line` where it begins there */
  add(cells: readonly string[], line: number, error: string): void;
  /** How long it is, for the journal. */
  bytes(): number;
  close(): void;
};

/** Throws a `Failure` when there is a file already: somebody may be mending it. */
export function refuseOldReport(path: string): void {
  if (!existsSync(path)) return;
  throw new Failure(
    `${path} is there already, with the rows that failed earlier. Import or remove it, or name another file with --errors.`,
  );
}

/**
 * Goes on behind what the journal knows of a report. What stands behind that is cut off: the journal does not know that
 * these rows failed, so they are sent again.
 *
 * @param bytes how much the journal knows of, 0 for a new report
 * @param titles of the cells; asked when the first row is added
 */
export function openErrorReport(path: string, bytes: number, titles: () => readonly string[]): ErrorReport {
  let fd = existsSync(path) ? reopen(path, bytes) : undefined;
  let length = bytes;
  if (fd === undefined && bytes > 0) throw changed(path);

  return {
    add(cells, line, error) {
      fd ??= openSync(path, 'ax', 0o600);
      if (length === 0) length += writeSync(fd, csvLine([...titles(), 'line', 'error']));
      length += writeSync(fd, csvLine([...cells, String(line), error]));
    },
    bytes: () => length,
    close() {
      if (fd !== undefined) closeSync(fd);
    },
  };
}

function reopen(path: string, bytes: number): number {
  if (statSync(path).size < bytes) throw changed(path);
  const fd = openSync(path, 'a');
  ftruncateSync(fd, bytes);
  return fd;
}

function changed(path: string): Failure {
  return new Failure(
    `${path}, the rows that failed so far, was changed or removed since the import was stopped. Put it back, or import it all again with --restart.`,
  );
}
