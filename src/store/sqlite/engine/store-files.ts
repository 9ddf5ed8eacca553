import {
  type BigIntStats,
  closeSync,
  fstatSync,
  openSync,
  read,
  readdirSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { countLogPages } from './checkpoint.ts';
import { StoreFailure } from './failure.ts';

export type StoreFiles = ReturnType<typeof storeFiles>;

/** `changedAt` in nanoseconds. */
export type KnownFile = { path: string; dev: bigint; ino: bigint; size: bigint; changedAt: bigint };

/** `fd`: SQLite's descriptor of the file. `link`: what `/proc/self/fd/<fd>` named when the file was last in place. */
type WatchedFile = KnownFile & { fd: number | undefined; link: string | undefined };

const CHUNK = 1024 * 1024;
const WAL_HEADER = 32;
const FRAME_HEADER = 24;
const readFrom = promisify(read);
const lastByte = Buffer.alloc(1);
const linkOf = (fd: number) => `/proc/self/fd/${fd}`;

/** @param path of the database, with an open connection, so that all three files exist */
export function lookAtFiles(path: string): readonly KnownFile[] {
  return [path, `${path}-wal`, `${path}-shm`].map((file) => {
    const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
    return { path: file, dev, ino, size, changedAt: mtimeNs };
  });
}

/**
 * Checks files past SQLite, which continues to write to moved or deleted ones. Never opens them: closing a second
 * descriptor would release SQLite's locks.
 * @param known as `lookAtFiles` finds them: the database, the log and, if wanted, the shared memory
 */
export function storeFiles(known: readonly KnownFile[]) {
  const files = known.map((file): WatchedFile => ({ ...file, fd: undefined, link: undefined }));
  // `lookAtFiles` finds both.
  const [database, log] = files as [WatchedFile, WatchedFile];
  let pageSize: number | undefined;

  /**
   * Undefined while the paths lead to the opened files and none is too short. Costs one `stat` per file. With a `db`
   * outside a transaction, files that another program shortened by SQLite's rules (vacuum, checkpoint) pass.
   */
  function loss(db?: DatabaseSync): StoreFailure | undefined {
    for (const file of files) {
      const lost = lossOf(file, db);
      if (lost) return lost;
    }
    return undefined;
  }

  function lossOf(file: WatchedFile, db: DatabaseSync | undefined): StoreFailure | undefined {
    const found = statOf(file);
    if (found === undefined || typeof found === 'string') return awayFailure(file, found ?? 'ENOENT');
    if (!isSame(file, found)) return final(`${file.path} was replaced by another file`);
    if (found.size < file.size && !(db && isWhole(file, found.size, db))) {
      return final(`${file.path} was truncated by another program, from ${file.size} to ${found.size} bytes`);
    }
    file.size = found.size;
    file.changedAt = found.mtimeNs;
    return undefined;
  }

  /**
   * Like `loss`, for use after a commit. Skips the `stat` of the log: on Linux 6.13 and later it makes the next flush
   * take 50 % longer, because the system then records the time of the next write more precisely.
   * @param logPages the number of pages in the log
   */
  function lossAfterCommit(db: DatabaseSync, logPages: number): StoreFailure | undefined {
    pageSize ??= pageSizeOf(db);
    if (isLogInPlace(logLength(logPages, pageSize))) return lossOf(database, db);
    const lost = loss(db);
    if (!lost) rememberLink();
    return lost;
  }

  /** SQLite's descriptor still leads to the same place, and the last required byte exists. */
  function isLogInPlace(needed: bigint): boolean {
    const { fd, link } = log;
    if (fd === undefined || link === undefined) return false;
    try {
      if (readlinkSync(linkOf(fd)) !== link) return false;
    } catch {
      return false;
    }
    if (needed > log.size) log.size = needed;
    return !isLogCut();
  }

  /**
   * Whether the log is shorter than after the last commit; call it right before a commit. Checks the last byte. Without
   * SQLite's descriptor, only the `stat` after the commit notices some cuts.
   */
  function isLogCut(): boolean {
    if (log.fd === undefined || log.size === 0n) return false;
    try {
      return readSync(log.fd, lastByte, 0, 1, log.size - 1n) === 0;
    } catch {
      // A failing disk is not a truncated log.
      return false;
    }
  }

  function rememberLink(): void {
    try {
      log.fd = descriptorOf(log, log.fd);
      log.link = log.fd === undefined ? undefined : readlinkSync(linkOf(log.fd));
    } catch {
      // Without /proc, each check is a `stat`.
      log.link = undefined;
    }
  }

  /** SQLite's own state distinguishes a truncation from another program's checkpoint or vacuum. */
  function isWhole(file: KnownFile, size: bigint, db: DatabaseSync): boolean {
    if (db.isTransaction) return false;
    try {
      if (file !== database) return size >= logLength(countLogPages(db)(), pageSizeOf(db));
      return size >= numberOf(db, 'PRAGMA page_count', 'page_count') * pageSizeOf(db);
    } catch {
      // The rest is not even readable.
      return false;
    }
  }

  function awayFailure(file: WatchedFile, code: string): StoreFailure {
    if (code !== 'ENOENT') return away(`${file.path} is unreachable (${code})`);
    if (isDeleted(file)) return final(`${file.path} was deleted`);
    return away(`${file.path} was moved away, or is unreachable (${code})`);
  }

  /** By SQLite's descriptor: a file without a name cannot come back. */
  function isDeleted(file: WatchedFile): boolean {
    file.fd = descriptorOf(file, file.fd);
    return file.fd !== undefined && fstatSync(file.fd).nlink === 0;
  }

  return {
    path: database.path,
    /** The files as they were when the store was opened, for another thread that uses it. */
    known,
    /** The files as `loss` last found them. */
    latest: (): readonly KnownFile[] => files,
    loss,
    isLogCut,
    lossAfterCommit,
    /** Whether only the log is gone for good: then only this process knows its contents. */
    lacksLog(): boolean {
      const found = statOf(database);
      if (typeof found !== 'object' || !isSame(database, found)) return false;
      return statOf(log) === undefined && isDeleted(log);
    },
    /** The system's code for why a small file cannot be written next to them; undefined if it can. */
    writeRefusal: () => tryToWrite(dirname(database.path)),
    /** Reads the whole store past SQLite's cache; returns the code of the first failure, undefined without one. */
    async readRefusal(): Promise<string | undefined> {
      for (const file of [database, log]) {
        file.fd = descriptorOf(file, file.fd);
        const code = file.fd === undefined ? undefined : await readAll(file.fd);
        if (code !== undefined) return code;
      }
      return undefined;
    },
  };
}

/** Undefined without a file; the error code on failure. */
function statOf({ path }: KnownFile): BigIntStats | string | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    return codeOf(error);
  }
}

function isSame(file: KnownFile, { dev, ino }: BigIntStats): boolean {
  return dev === file.dev && ino === file.ino;
}

function away(what: string): StoreFailure {
  return new StoreFailure(`${what}. Nothing is written until it is back in place.`, { isFinal: false });
}

function final(what: string): StoreFailure {
  const advice =
    'Find out what did it before you restart the service; "plant-store restore" restores a backup.';
  return new StoreFailure(`${what} while the service ran. ${advice}`, { isFinal: true });
}

/** The descriptor of a file in this process, where the system lists them; tries the known one first. */
function descriptorOf(file: KnownFile, known: number | undefined): number | undefined {
  const leads = (fd: number) => {
    try {
      return isSame(file, fstatSync(fd, { bigint: true }));
    } catch {
      return false;
    }
  };
  if (known !== undefined && leads(known)) return known;
  try {
    return readdirSync('/dev/fd').map(Number).find(leads);
  } catch {
    return undefined;
  }
}

function tryToWrite(folder: string): string | undefined {
  const probe = join(folder, `.write-test-${process.pid}`);
  try {
    rmSync(probe, { force: true });
    const fd = openSync(probe, 'wx', 0o600);
    try {
      writeSync(fd, Buffer.alloc(4096));
    } finally {
      closeSync(fd);
      rmSync(probe);
    }
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}

async function readAll(fd: number): Promise<string | undefined> {
  const chunk = Buffer.alloc(CHUNK);
  try {
    for (let at = 0; ; ) {
      const { bytesRead } = await readFrom(fd, chunk, 0, CHUNK, at);
      if (bytesRead === 0) return undefined;
      at += bytesRead;
    }
  } catch (error) {
    return codeOf(error);
  }
}

/** Node has no name for some codes, such as EDQUOT, and says "Unknown system error -122". */
function codeOf(error: unknown): string {
  // Only system calls fail here.
  const { errno = 0, code = String(error) } = error as NodeJS.ErrnoException;
  return Object.entries(constants.errno).find(([, number]) => number === -errno)?.[0] ?? code;
}

/** The minimum, in bytes (https://www.sqlite.org/fileformat.html#the_write_ahead_log). */
function logLength(pages: number, pageSize: number): bigint {
  return pages === 0 ? 0n : BigInt(WAL_HEADER + pages * (FRAME_HEADER + pageSize));
}

function pageSizeOf(db: DatabaseSync): number {
  return numberOf(db, 'PRAGMA page_size', 'page_size');
}

function numberOf(db: DatabaseSync, pragma: string, column: string): number {
  return Number(db.prepare(pragma).get()?.[column]);
}
