import { createHash, type Hash } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { csvLine } from '../import/csv.ts';
import { isOf } from './atomic-file.ts';
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
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined || isEmptyFile(there)) return;
  if (there.isSymbolicLink()) {
    throw new Failure(
      `${path} is a link, which is not followed. Remove it, or name another file with --errors.`,
    );
  }
  throw thereAlready(path);
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
  const fd = openLeft(path);
  const { size, ino } = fstatSync(fd, { bigint: true });
  const behind = size - BigInt(mark.bytes);
  const mayBeIt = behind === 0n || (behind > 0n && !isExact && String(ino) === mark.file);
  const hash = mayBeIt ? await hashOf(fd, mark.bytes) : undefined;
  if (hash?.copy().digest('hex') !== mark.sha256) {
    closeSync(fd);
    throw changed(path);
  }
  ftruncateSync(fd, mark.bytes);
  return reportAt(path, fd, hash, mark.bytes, titles);
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR, O_WRONLY } = constants;

/** The file itself, not what a link in its place leads to. */
function openLeft(path: string): number {
  try {
    return openSync(path, O_RDWR | O_APPEND | O_NOFOLLOW);
  } catch (error) {
    throw isOf(error, 'ENOENT', 'ELOOP') ? changed(path) : error;
  }
}

/** Looked at once it is open: something may have taken its name since `refuseOldReport`. */
function openNew(path: string): number {
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  if (isEmptyFile(fstatSync(fd))) return fd;
  closeSync(fd);
  throw thereAlready(path);
}

function isEmptyFile(there: Stats): boolean {
  return there.isFile() && there.size === 0;
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
      fd ??= openNew(path);
      writeFileSync(fd, text);
    } catch (cause) {
      if (cause instanceof Failure) throw cause;
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

async function hashOf(fd: number, bytes: number): Promise<Hash> {
  const hash = createHash('sha256');
  // Both ends are included.
  const from = createReadStream('', { fd, autoClose: false, start: 0, end: bytes - 1 });
  for await (const piece of from) hash.update(piece);
  return hash;
}

function thereAlready(path: string): Failure {
  return new Failure(
    `${path} is there already, with the rows that failed earlier. Import or remove it, or name another file with --errors.`,
  );
}

function changed(path: string): Failure {
  return new Failure(
    `${path}, the rows that failed so far, was changed or removed since the import was stopped. Put it back, go on, and mend the rows when the import is done; or rename it, and import all again with --restart.`,
  );
}
