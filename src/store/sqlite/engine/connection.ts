import { closeSync, existsSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { writes } from '../../../limits.ts';
import { fileSize } from '../files/durable-files.ts';

/** Older versions can corrupt a database when a checkpoint resets the write-ahead log. */
const OLDEST_SQLITE = '3.51.3';

/** `synchronous=FULL` flushes the log at each commit; NORMAL would lose acknowledged commits on a power cut. */
export function openConnection(path: string, options: { readOnly?: boolean } = {}): DatabaseSync {
  refuseOldSqlite();
  refuseLostDatabase(path);
  if (!options.readOnly && path !== ':memory:') makePrivateFile(path);
  const db = new DatabaseSync(path, { readOnly: options.readOnly ?? false, timeout: writes.lockWaitMs });
  if (!options.readOnly) db.exec('PRAGMA journal_mode = WAL');
  // See checkpoint.ts.
  db.exec('PRAGMA wal_autocheckpoint = 0');
  db.exec('PRAGMA synchronous = FULL');
  // On macOS a plain fsync leaves data in the disk's cache. No effect elsewhere.
  db.exec('PRAGMA fullfsync = ON');
  db.exec('PRAGMA foreign_keys = ON');
  db.exec('PRAGMA trusted_schema = OFF');
  return db;
}

/**
 * Creates an empty database file that only its owner may read; SQLite gives its other files the same mode. Does not
 * open an existing file: closing it would release the locks that this process holds on it.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/**
 * Opens the files as SQLite will, for a more precise error. Call it before this process opens the store: closing a file
 * releases SQLite's locks on it.
 * @throws errors of the file system, with the path
 */
export function requireWritable(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) {
    if (existsSync(path + suffix)) closeSync(openSync(path + suffix, 'r+'));
  }
  requireSpaceForIndex(path);
}

/** A part of the -shm file: its size, and the least size of the log that it indexes. */
const INDEX = { part: 32_768, ofLog: 4_062 * 4_096 };

/**
 * SQLite maps the -shm file into memory, and reserves its space by writing one byte of each 4 KiB. On a file system with
 * smaller blocks that reserves too little: on a full disk the process would end by SIGBUS, without a message.
 */
function requireSpaceForIndex(path: string): void {
  const index = `${path}-shm`;
  const held = (statSync(index, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  const missing = (1 + Math.floor(fileSize(`${path}-wal`) / INDEX.ofLog)) * INDEX.part - held;
  if (missing <= 0) return;
  const probe = join(dirname(path), `.write-test-${process.pid}`);
  rmSync(probe, { force: true });
  try {
    writeFileSync(probe, Buffer.alloc(missing), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    // SQLite reports everything else itself.
    if (error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT'))
      throw Object.assign(error, { path: index });
  } finally {
    rmSync(probe, { force: true });
  }
}

/**
 * Refuses a write-ahead log without its database: SQLite would delete the log, maybe all that is left, even to read.
 */
export function refuseLostDatabase(path: string): void {
  const log = `${path}-wal`;
  if (fileSize(path) > 0 || fileSize(log) === 0) return;
  const state = existsSync(path) ? 'is empty' : 'is missing';
  throw new Error(
    `The database ${path} ${state}, but its write-ahead log exists, with the last ${fileSize(log)} bytes written: ` +
      `${log}. Nothing was changed. Put the database back next to it, or restore a backup: plant-store restore FILE. ` +
      'To start with an empty store instead, move the log away.',
  );
}

function refuseOldSqlite(): void {
  const version = process.versions.sqlite ?? '0.0.0';
  if (numberOf(version) < numberOf(OLDEST_SQLITE))
    throw new Error(`SQLite ${version} is too old; ${OLDEST_SQLITE} or newer is required`);
}

/** SQLITE_VERSION_NUMBER: 3051003 for 3.51.3. To compare the texts by locale would take 10 ms of every start. */
function numberOf(version: string): number {
  return version.split('.').reduce((sum, part) => 1000 * sum + Number(part), 0);
}
