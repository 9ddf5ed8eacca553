import { closeSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeWhole } from './atomic-file.ts';
import { Failure } from './failure.ts';
import { NO_REPORT, type ReportMark } from './import-errors.ts';
import { imports } from './limits.ts';
import { systemReasonOrCode } from './system-failure.ts';

/** What an import is an import of: another one of these is another import. */
export type ImportIdentity = {
  /** SHA-256 of what is in the file. */
  sha256: string;
  format: string;
  url: string;
  /** SHA-256 of the token. */
  token: string;
  /** Part of each key: another run of the same file has another one when it is to add the rows once more. */
  run: string;
  /** Where its error report is: an absolute path. */
  errors: string;
};

/** How far an import is. */
export type ImportCounts = {
  /** Rows that were added. */
  added: number;
  /** Rows that an earlier import of the same file had added within a day. */
  addedBefore: number;
  /** Rows that are in the error report. */
  failed: number;
  /** The error report as far as it has these rows. */
  report: ReportMark;
};

/** What is done of an import. Each row is either done or not, also after the process was killed at any instant. */
export type Journal = {
  isDone(row: number): boolean;
  /** The rows up to this one are done. */
  upTo(): number;
  /** Notes that a row is done. It is written soon, at the end of this turn of the event loop. Throws when that failed. */
  done(row: number, counts: ImportCounts): void;
  /** Rows that are done. */
  rows(): number;
  /** Writes what is not written yet, and that nothing is missing in it. */
  close(): void;
};

/**
 * The last entry of a journal: the rows up to `upTo` are done, and those in `also`. `isClosed`: no other row is done, as
 * its process was not killed.
 */
type Entry = ImportCounts & { upTo: number; also: number[]; isClosed: boolean };

export const NO_COUNTS: ImportCounts = { added: 0, addedBefore: 0, failed: 0, report: NO_REPORT };
const NOTHING: Entry = { ...NO_COUNTS, upTo: 0, also: [], isClosed: false };

/** What an earlier process has left. */
export type LeftJournal = { identity: ImportIdentity; counts: ImportCounts; rows: number; entry: Entry };

/** Undefined where there is none, or an empty file. Throws a `Failure` when the file is something else. */
export function readJournal(path: string): LeftJournal | undefined {
  const text = textOf(path);
  if (text === '') return undefined;
  // What is behind the last line break was not written to its end.
  const [first = '', ...entries] = text.split('\n').slice(0, -1);
  try {
    // Only `openJournal` writes these files, one whole line at a time; anything else has no such members.
    const { identity } = JSON.parse(first) as { identity: ImportIdentity };
    const entry = { ...NOTHING, ...(JSON.parse(entries.at(-1) ?? '{}') as Partial<Entry>) };
    if (typeof identity.sha256 !== 'string') throw new Error('It has no identity.');
    const { added, addedBefore, failed, report } = entry;
    const counts = { added, addedBefore, failed, report };
    return { identity, counts, rows: entry.upTo + entry.also.length, entry };
  } catch (cause) {
    throw new Failure(
      `${path} is not a journal of an import. Remove it, or name another place with --journal.`,
      {
        cause,
      },
    );
  }
}

/** Empty when there is no file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw new Failure(`The journal ${path} cannot be read: ${systemReasonOrCode(error)}.`, { cause: error });
  }
}

/**
 * Goes on with a journal, or begins one. Each entry is written whole, behind the others, and stands for all before it:
 * a write that a kill cuts off costs what it would have added, and those rows are sent again under the same keys.
 */
export function openJournal(path: string, identity: ImportIdentity, left: Entry = NOTHING): Journal {
  let { upTo } = left;
  /** Rows above `upTo` that are done. */
  const also = new Set(left.also);
  let counts: ImportCounts = left;
  let isDue = false;
  /** Whether it will be exact when it is closed: it was, or what has come since is all in it. */
  let { isClosed } = left;
  /** Why it cannot be written any more. What is in it stays true. */
  let failure: unknown;
  let { fd, bytes } = begin(path, identity, { ...left, isClosed: false });

  const entry = (isLast: boolean): Entry => ({
    ...counts,
    upTo,
    also: [...also],
    isClosed: isLast && isClosed,
  });

  function write(isLast: boolean): void {
    if (!isDue || failure !== undefined) return;
    isDue = false;
    try {
      if (bytes > imports.journalBytes) {
        const next = begin(path, identity, entry(isLast));
        closeSync(fd);
        ({ fd, bytes } = next);
      } else bytes += writeAll(fd, `${JSON.stringify(entry(isLast))}\n`);
    } catch (error) {
      failure = unwritable(path, error);
    }
  }

  return {
    isDone: (row) => row <= upTo || also.has(row),
    upTo: () => upTo,
    done(row, now) {
      if (failure !== undefined) throw failure;
      also.add(row);
      while (also.delete(upTo + 1)) upTo++;
      counts = now;
      isClosed = true;
      if (!isDue) setImmediate(write, false);
      isDue = true;
    },
    rows: () => upTo + also.size,
    close() {
      isDue = true;
      write(true);
      closeSync(fd);
    },
  };
}

/** Puts a journal with one entry into the place of what is there, which stays until the new one is whole. */
function begin(path: string, identity: ImportIdentity, entry: Entry): { fd: number; bytes: number } {
  const text = `${JSON.stringify({ identity })}\n${JSON.stringify(entry)}\n`;
  try {
    return { fd: writeWhole(path, 0o600, text), bytes: Buffer.byteLength(text) };
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** All of it or, when that fails, a part, which `readJournal` passes over. */
function writeAll(fd: number, text: string): number {
  writeFileSync(fd, text);
  return Buffer.byteLength(text);
}

function unwritable(path: string, cause: unknown): unknown {
  if (cause instanceof Failure) return cause;
  return new Failure(
    `The journal ${path}, by which an import goes on where it was, cannot be written: ${systemReasonOrCode(cause)}. Make room, or name another place with --journal.`,
    { cause },
  );
}

/** Takes a journal away that is done with. */
export function removeJournal(path: string): void {
  rmSync(path, { force: true });
}
