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
import { openFile } from '../files/durable-files.ts';
import type { KnownFile } from './store-files.ts';

/** Inode, size in bytes, and time of change in nanoseconds. */
type Noted = { ino: string; size: string; changedAt: string };
type Sizes = { database: Noted; log: Noted };

const nameOf = (path: string) => `${path}-sizes`;
/** The size of the record, which is overwritten in one piece. */
const BYTES = 256;

/**
 * The sizes of the store's files after the last commit, in a file that exists while a server runs and after an unclean
 * stop. It shows the next start whether the store was truncated: a log's checksums show where it ends, not where it
 * should end.
 * @param path of the database
 */
export function keepSizeRecord(path: string) {
  const file = openRecord(nameOf(path));
  let noted = '';
  /** A checkpoint of a part of the log has not flushed what it added to the database. */
  let flushedSize: bigint | undefined;

  return {
    /**
     * Records changed files. Call it after a commit, and after a checkpoint of the whole log: the last program to close
     * the store may then remove the log without changing the database.
     */
    note([database, log]: readonly KnownFile[], isAllCopied = false): void {
      if (file === undefined || !database || !log) return;
      if (isAllCopied) flushedSize = database.size;
      flushedSize ??= database.size;
      const neededSize = isAllCopied ? 0n : log.size;
      const state = `${flushedSize} ${database.changedAt} ${neededSize}`;
      if (state === noted) return;
      const sizes: Sizes = {
        database: asText({ ...database, size: flushedSize }),
        log: asText({ ...log, size: neededSize }),
      };
      try {
        writeSync(file, JSON.stringify(sizes).padEnd(BYTES), 0);
        noted = state;
      } catch {
        // The commit stands; the next start only notices less.
      }
    },
    /** Call it before a clean close, when SQLite removes the log. */
    end(): void {
      if (file === undefined) return;
      closeSync(file);
      removeSizeRecord(path);
    },
  };
}

/** Undefined if the disk is full, which must not prevent a start; the next start only notices less. */
function openRecord(name: string): number | undefined {
  try {
    return openSync(name, 'w', 0o600);
  } catch {
    return undefined;
  }
}

/** Whether a server is running, or the last one stopped uncleanly. */
export function hasSizeRecord(path: string): boolean {
  return existsSync(nameOf(path));
}

export function removeSizeRecord(path: string): void {
  rmSync(nameOf(path), { force: true });
}

/**
 * Refuses a store that lost data since the last commit of a server that stopped uncleanly. Call it before this process
 * opens the store: closing a file releases SQLite's locks on it.
 */
export function refuseCutStore(path: string): void {
  const record = readRecord(path);
  const problem = record && problemOf(record, path);
  if (problem === undefined) return;
  throw new Error(
    `${problem}, so plants that were acknowledged may be missing. Nothing was changed. Put the file back as it was, or ` +
      `restore a backup: plant-store restore FILE. To continue with the remaining data, remove ${nameOf(path)}.`,
  );
}

function problemOf({ database, log }: Sizes, path: string): string | undefined {
  const wal = `${path}-wal`;
  // The log first: a program that closes the store meanwhile copies the log before it removes it.
  const [foundLog, foundDatabase] = [wal, path].map((file) =>
    statSync(file, { bigint: true, throwIfNoEntry: false }),
  );
  if (!foundDatabase) return `The database ${path} is missing`;
  const size = foundDatabase.size;
  if (size < BigInt(database.size) && size < fullSize(path)) {
    return `The database ${path} has ${size} bytes; it had ${database.size} when the service last used it`;
  }
  // Another program copied the log into the database, then removed or shortened it.
  const isCopied = foundDatabase.mtimeNs > BigInt(database.changedAt);
  if ((foundLog?.size ?? 0n) < BigInt(log.size) && !isCopied) {
    const state = foundLog ? `has ${foundLog.size} bytes` : 'is missing';
    return `The write-ahead log ${wal} ${state}; it had ${log.size} bytes when the service last used it`;
  }
  // In a copy of the whole folder both files differ.
  const isReplaced = String(foundDatabase.ino) !== database.ino && String(foundLog?.ino) === log.ino;
  return isReplaced ? `The database ${path} was replaced by another file, and its log was not` : undefined;
}

function readRecord(path: string): Sizes | undefined {
  try {
    // Written by `note`. It does not exist after a clean stop, and may be empty after a power cut.
    return JSON.parse(readFileSync(nameOf(path), 'utf8')) as Sizes;
  } catch {
    return undefined;
  }
}

/** The size in the database header: pages times page size (https://www.sqlite.org/fileformat.html). */
function fullSize(path: string): bigint {
  const header = Buffer.alloc(32);
  using file = openFile(path, 'r');
  if (readSync(file.fd, header) < header.length) return BigInt(Number.MAX_SAFE_INTEGER);
  // 65536 does not fit and is stored as 1.
  const pageBytes = header.readUInt16BE(16);
  return BigInt(pageBytes === 1 ? 65_536 : pageBytes) * BigInt(header.readUInt32BE(28));
}

function asText({ ino, size, changedAt }: KnownFile): Noted {
  return { ino: String(ino), size: String(size), changedAt: String(changedAt) };
}
