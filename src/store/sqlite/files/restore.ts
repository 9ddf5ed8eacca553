import {
  chmodSync,
  constants,
  existsSync,
  lchownSync,
  lstatSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { writes } from '../../../limits.ts';
import { type Comparison, compareTokens } from '../access/revived-tokens.ts';
import { makePrivateFile } from '../engine/connection.ts';
import { isDamage } from '../engine/failure.ts';
import { removeSizeRecord } from '../engine/size-record.ts';
import type { UnfinishedStore } from '../engine/unfinished-stores.ts';
import { fileSize, flushFile, keepFile, replaceFile } from './durable-files.ts';
import { makeLogDurable } from './durable-log.ts';
import type { Contents } from './inspect.ts';
import { copyAndCheck, type WholeReport } from './whole-store.ts';

type RestoreOptions = {
  from: string;
  /** The store's file, in an existing folder. The caller holds the server lock. */
  path: string;
  /** Where the backup is copied to and checked. It is removed in the end. */
  unfinished: UnfinishedStore;
  now: number;
  report: WholeReport;
};

export type Restored = Contents &
  Comparison & {
    /** The kept previous store; undefined without one. */
    before: string | undefined;
  };

/**
 * Replaces a store by a checked copy of another. If it is killed, one of them is in place, complete; running it again
 * finishes or repeats the restore.
 * @throws errors of `copyAndCheck`, of SQLite (5, busy, when the store is in use) and of the file system; the store
 *   is then unchanged. UnflushedName when it is replaced, but a power cut may undo that
 */
export async function restoreStore(options: RestoreOptions): Promise<Restored> {
  const { from, path, now, report } = options;
  using unfinished = options.unfinished;
  const interrupted = endInterrupted(path);
  const staged = unfinished.path;
  await stage(from, staged);
  const contents = await copyAndCheck({ from: undefined, path: staged }, report);
  giveToOwnerOf(dirname(path), [staged]);
  flushFile(staged);
  const before = isThere(path) ? (interrupted ?? nameOfBefore(path, now)) : undefined;
  const isWhole = before !== undefined && keepStore(path, before, `${staged}-kept`);
  const compared = isWhole ? compareTokens(before, staged, now) : UNKNOWN;
  replaceFile(staged, path);
  removeSizeRecord(path);
  if (isWhole || before === undefined) removeLoneLogs(path);
  return { ...contents, before, ...compared };
}

const UNKNOWN: Comparison = { revived: undefined, isReadable: false };

/** Creates a copy that this process may change, including the write-ahead log, if the folder was copied with one. */
async function stage(from: string, staged: string): Promise<void> {
  await copyFile(from, staged, constants.COPYFILE_EXCL);
  chmodSync(staged, 0o600);
  if (existsSync(`${from}-wal`)) await copyFile(`${from}-wal`, `${staged}-wal`, constants.COPYFILE_EXCL);
  foldIn(staged);
}

/**
 * Copies the write-ahead log into the store and removes it, so that it cannot be taken for another store's log. Fails
 * with SQLite's code 5 when the store is in use.
 */
function foldIn(path: string): void {
  using db = new DatabaseSync(path, { timeout: writes.lockWaitMs });
  db.exec('PRAGMA synchronous = FULL');
  db.exec('PRAGMA journal_mode = DELETE');
}

const LOGS = ['-wal', '-journal'] as const;

/** A log without its database counts as a store: it must not be taken for the log of the restored one. */
function isThere(path: string): boolean {
  return existsSync(path) || fileSize(`${path}-wal`) > 0;
}

/**
 * Gives the store a second name, which it keeps when another store gets the first.
 * @param draft as in `keepFile`
 * @returns false when the store is damaged and was kept with its logs
 */
function keepStore(path: string, name: string, draft: string): boolean {
  // SQLite deletes a log that it cannot interpret, and a damaged store would lose it.
  for (const suffix of LOGS) {
    if (!existsSync(path + suffix)) continue;
    rmSync(name + suffix, { force: true });
    keepFile(path + suffix, name + suffix, draft);
  }
  // Only the name of an interrupted restore exists already.
  const isKept = existsSync(name);
  let isDamaged = isKept || fileSize(path) === 0;
  try {
    if (!isDamaged) makeLogDurable(path);
    if (!isDamaged) foldIn(path);
  } catch (error) {
    isDamaged = isDamage(error);
    if (!isDamaged) throw error;
  } finally {
    // A sound store has absorbed its logs, or they are still in their place.
    if (!isDamaged) for (const suffix of LOGS) rmSync(name + suffix, { force: true });
  }
  // The log of a lost database, alone, would be removed as the leftover of a killed restore.
  if (!existsSync(path)) makePrivateFile(name);
  else if (!isKept) keepFile(path, name, draft);
  for (const suffix of [...LOGS, '-shm']) rmSync(path + suffix, { force: true });
  return !isDamaged;
}

function nameOfBefore(path: string, now: number): string {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  const name = `${path}.before-restore-${time}`;
  const isTaken = (free: string) => ['', ...LOGS].some((suffix) => lstatSync(free + suffix, ABSENT));
  let free = name;
  for (let n = 2; isTaken(free); n++) free = `${name}-${n}`;
  return free;
}

const ABSENT = { throwIfNoEntry: false } as const;

/** A restore killed early has kept only the logs. They may be the only copy while that store is damaged. */
function removeLoneLogs(path: string): void {
  const folder = dirname(path);
  const names = new Set(readdirSync(folder));
  for (const name of names) {
    const [, store] = /^(.*\.before-restore-\d{8}T\d{6}Z(?:-\d+)?)-(?:wal|journal)$/.exec(name) ?? [];
    if (!store?.startsWith(basename(path)) || names.has(store)) continue;
    rmSync(join(folder, name), { force: true });
  }
}

/**
 * A restore killed before its last step leaves a second name, and SQLite would damage a store opened by two names. Only
 * that of a damaged store has logs, which may be nowhere else: it is returned, and stays.
 */
function endInterrupted(path: string): string | undefined {
  const names = aliasesOf(path);
  for (const name of names) if (!hasLogs(name)) rmSync(name);
  return names.find(hasLogs);
}

export function hasLogs(path: string): boolean {
  return LOGS.some((suffix) => existsSync(path + suffix));
}

/** Other names that a restore gave a store's file. */
export function aliasesOf(path: string): string[] {
  const store = statSync(path, { throwIfNoEntry: false });
  if (store === undefined || store.nlink === 1) return [];
  const folder = dirname(path);
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(path)}.before-restore-`))
    .map((name) => join(folder, name))
    .filter((name) => {
      const { dev, ino } = statSync(name);
      return dev === store.dev && ino === store.ino;
    });
}

/** Root restores on behalf of the service's user: gives the files to the owner of the folder. */
export function giveToOwnerOf(folder: string, files: readonly string[]): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  for (const file of files) if (existsSync(file)) lchownSync(file, uid, gid);
}
