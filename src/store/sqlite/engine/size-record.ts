import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import type { KnownFile } from './store-files.ts';

/**
 * How long the files of a store were after the last commit, in a file beside the database. It is there while a server
 * runs and after one that did not stop cleanly, so that the next start notices a store that was cut meanwhile: the
 * checksums of a write-ahead log say where it ends, not where it should end.
 */
export type SizeRecord = {
  /**
   * Writes down the files, if they are not as they were. To be called after a commit, and after a checkpoint that copied
   * all of the log: whoever closes the store last may then remove the log without a change of the database.
   */
  note(files: readonly KnownFile[], isAllCopied?: boolean): void;
  /** Before a clean close, in which SQLite removes the log. */
  end(): void;
};

/** Inode, size in bytes, and when it was changed, in nanoseconds. */
type Noted = { ino: string; size: string; changedAt: string };
type Record = { database: Noted; log: Noted };

const nameOf = (path: string) => `${path}-sizes`;
/** Of the text, which is written over the one before in one piece. */
const BYTES = 256;

/** @param path of the database */
export function keepSizeRecord(path: string): SizeRecord {
  const file = openRecord(nameOf(path));
  let noted = '';
  /** A checkpoint that did not copy all of the log has not flushed what it added to the database. */
  let flushedSize: bigint | undefined;

  return {
    note([database, log], isAllCopied = false) {
      if (file === undefined || !database || !log) return;
      if (isAllCopied) flushedSize = database.size;
      flushedSize ??= database.size;
      const neededSize = isAllCopied ? 0n : log.size;
      const state = `${flushedSize} ${database.changedAt} ${neededSize}`;
      if (state === noted) return;
      const record: Record = {
        database: asText({ ...database, size: flushedSize }),
        log: asText({ ...log, size: neededSize }),
      };
      try {
        writeSync(file, JSON.stringify(record).padEnd(BYTES), 0);
        noted = state;
      } catch {
        // What is committed is committed. The next start notices less.
      }
    },
    end() {
      if (file === undefined) return;
      closeSync(file);
      removeSizeRecord(path);
    },
  };
}

/** Undefined where there is no room for it, which must not keep the service from starting. The next start notices less. */
function openRecord(name: string): number | undefined {
  try {
    return openSync(name, 'w', 0o600);
  } catch {
    return undefined;
  }
}

/** Whether the last server did not stop cleanly, or runs. */
export function hasSizeRecord(path: string): boolean {
  return existsSync(nameOf(path));
}

export function removeSizeRecord(path: string): void {
  rmSync(nameOf(path), { force: true });
}

/**
 * Refuses a store of which a part is gone that was there after the last commit of a server that did not stop cleanly. To
 * be called before this process opens the store: closing a file gives up the locks that SQLite holds on it.
 */
export function refuseCutStore(path: string): void {
  const record = readRecord(path);
  const problem = record && problemOf(record, path);
  if (problem === undefined) return;
  throw new Error(
    `${problem}, so plants that were acknowledged may be missing. Nothing was changed. Put the file back as it was, or ` +
      `restore a backup: plant-store restore FILE. To go on with what is there, remove ${nameOf(path)}.`,
  );
}

function problemOf({ database, log }: Record, path: string): string | undefined {
  const wal = `${path}-wal`;
  // The log first: a program that closes the store now copies it before it removes it.
  const [foundLog, foundDatabase] = [wal, path].map((file) =>
    statSync(file, { bigint: true, throwIfNoEntry: false }),
  );
  if (!foundDatabase) return `The database ${path} is missing`;
  const size = foundDatabase.size;
  if (size < BigInt(database.size) && size < fullSize(path)) {
    return `The database ${path} has ${size} bytes; it had ${database.size} when the service last used it`;
  }
  // Another program has copied the log into the database, and then removed or shortened it.
  const isCopied = foundDatabase.mtimeNs > BigInt(database.changedAt);
  if ((foundLog?.size ?? 0n) < BigInt(log.size) && !isCopied) {
    const state = foundLog ? `has ${foundLog.size} bytes` : 'is missing';
    return `The write-ahead log ${wal} ${state}; it had ${log.size} bytes when the service last used it`;
  }
  // Of a copy of the whole folder both are other files.
  const isReplaced = String(foundDatabase.ino) !== database.ino && String(foundLog?.ino) === log.ino;
  return isReplaced ? `The database ${path} was replaced by another file, and its log was not` : undefined;
}

function readRecord(path: string): Record | undefined {
  try {
    // Written by `note`. There is none after a clean stop; after a power cut it may be empty.
    return JSON.parse(readFileSync(nameOf(path), 'utf8')) as Record;
  } catch {
    return undefined;
  }
}

/** What the header of the database says: pages times the size of a page (https://www.sqlite.org/fileformat.html). */
function fullSize(path: string): bigint {
  const header = Buffer.alloc(32);
  const file = openSync(path, 'r');
  try {
    if (readSync(file, header) < header.length) return BigInt(Number.MAX_SAFE_INTEGER);
  } finally {
    closeSync(file);
  }
  // 65536 does not fit and is written as 1.
  const pageBytes = header.readUInt16BE(16);
  return BigInt(pageBytes === 1 ? 65_536 : pageBytes) * BigInt(header.readUInt32BE(28));
}

function asText({ ino, size, changedAt }: KnownFile): Noted {
  return { ino: String(ino), size: String(size), changedAt: String(changedAt) };
}
