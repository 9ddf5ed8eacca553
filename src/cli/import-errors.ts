import { createHash, type Hash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { csvLine } from '../import/csv.ts';
import { Failure } from './failure.ts';
import { systemReasonOrCode } from './system-failure.ts';
import { visible } from './terminal.ts';

/** How a report was left, by which it is known again. */
export type ReportMark = {
  /** Its length. */
  bytes: number;
  /** SHA-256 of so much of it, as hexadecimal digits; empty while there is no report. */
  sha256: string;
  /** Which file it is; empty while there is none. */
  file: string;
};

/** Of a report that nobody has added to. */
export const NO_REPORT: ReportMark = { bytes: 0, sha256: '', file: '' };

/** The report of the rows that failed, which can be mended and imported by itself. Made with its first row. */
export type ErrorReport = {
  /**
   * Adds a row, all of it: what a full disk took only in part is taken back, and the `Failure` that says so is thrown.
   *
   * @param cells what the file has of the row; `line` where it begins there; `error` for a person, and so shown safely
   */
  add(cells: readonly string[], line: number, error: string): void;
  /** What it is by now, for the journal. */
  mark(): ReportMark;
  close(): void;
};

/** Throws a `Failure` when there is something already: somebody may be mending it. */
export function refuseOldReport(path: string): void {
  const link = lstatSync(path, { throwIfNoEntry: false });
  if (link === undefined) return;
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) {
    throw new Failure(`${path} is a link that leads nowhere. Remove it, or name another file with --errors.`);
  }
  if (there.isFile() && there.size === 0) return;
  throw new Failure(
    `${path} is there already, with the rows that failed earlier. Import or remove it, or name another file with --errors.`,
  );
}

/**
 * Goes on with a report. What a killed import had written behind the mark is cut off: the journal does not know that
 * these rows failed, so they are sent again. Throws a `Failure` when the file is not what the mark says.
 *
 * @param isExact whether nothing can stand behind the mark, since the import before was not killed
 * @param titles of the cells; asked when the first row is added
 */
export async function openErrorReport(
  path: string,
  { mark, isExact, titles }: { mark: ReportMark; isExact: boolean; titles(): readonly string[] },
): Promise<ErrorReport> {
  if (mark.bytes === 0) {
    refuseOldReport(path);
    return reportAt(path, undefined, createHash('sha256'), 0, titles);
  }
  const there = statSync(path, { bigint: true, throwIfNoEntry: false });
  const behind = (there?.size ?? -1n) - BigInt(mark.bytes);
  if (there === undefined || behind < 0n || (behind > 0n && (isExact || String(there.ino) !== mark.file))) {
    throw changed(path);
  }
  const hash = await hashOf(path, mark.bytes);
  if (hash.copy().digest('hex') !== mark.sha256) throw changed(path);
  const fd = openSync(path, 'a');
  ftruncateSync(fd, mark.bytes);
  return reportAt(path, fd, hash, mark.bytes, titles);
}

function reportAt(
  path: string,
  begun: number | undefined,
  hash: Hash,
  length: number,
  titles: () => readonly string[],
): ErrorReport {
  let fd = begun;
  let bytes = length;
  let failure: Failure | undefined;

  function write(text: string): void {
    if (failure) throw failure;
    try {
      fd ??= openSync(path, 'a', 0o600);
      writeFileSync(fd, text);
    } catch (cause) {
      failure = new Failure(
        `The rows that fail cannot be written to ${path}: ${systemReasonOrCode(cause)}. Make room, then the same command goes on.`,
        { cause },
      );
      if (fd !== undefined) ftruncateSync(fd, bytes);
      throw failure;
    }
    hash.update(text);
    bytes += Buffer.byteLength(text);
  }

  return {
    add(cells, line, error) {
      const row = csvLine([...cells, String(line), visible(error)]);
      write(bytes === 0 ? csvLine([...titles(), 'line', 'error']) + row : row);
    },
    mark: () => ({
      bytes,
      sha256: bytes === 0 ? '' : hash.copy().digest('hex'),
      file: fd === undefined ? '' : String(fstatSync(fd, { bigint: true }).ino),
    }),
    close() {
      if (fd !== undefined) closeSync(fd);
    },
  };
}

async function hashOf(path: string, bytes: number): Promise<Hash> {
  const hash = createHash('sha256');
  // Both ends are included.
  for await (const piece of createReadStream(path, { end: bytes - 1 })) hash.update(piece);
  return hash;
}

function changed(path: string): Failure {
  return new Failure(
    `${path}, the rows that failed so far, was changed or removed since the import was stopped. Put it back, go on, and mend the rows when the import is done; or rename it, and import all again with --restart.`,
  );
}
