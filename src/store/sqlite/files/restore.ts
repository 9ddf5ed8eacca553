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
import { type Comparison, compareTokens, type RevivedToken } from '../access/revived-tokens.ts';
import { openDraft } from '../engine/drafts.ts';
import { isDamage } from '../engine/failure.ts';
import { removeSizeRecord } from '../engine/size-record.ts';
import { flushFile, keepFile, replaceFile } from './durable-files.ts';
import { makeLogDurable } from './durable-log.ts';
import { fileSize } from './file-size.ts';
import type { Contents } from './inspect.ts';
import { copyAndCheck, type WholeReport } from './whole-store.ts';

export type RestoreOptions = {
  from: string;
  /** The store's file, in a folder that is there. Its caller holds the lock of servers. */
  path: string;
  now: number;
  report: WholeReport;
};

export type Restored = Contents & {
  /** The store that was there before; undefined when there was none. */
  before: string | undefined;
  /** Whether that one can be read, and so be restored in its turn. */
  isReadable: boolean;
  /** Tokens that were good when the backup was made, and not, or not for so long, a moment ago. Undefined: unknown. */
  revived: RevivedToken[] | undefined;
};

/**
 * Puts a copy of a store in place of another one, once all of it was checked and is on disk. Killed at any instant it
 * leaves the one or the other, whole; the same once more finishes or repeats it.
 *
 * @throws what `copyAndCheck` does, errors of SQLite (5, busy, when somebody works on the store) and of the file
 * system; the store is as it was then
 */
export async function restoreStore({ from, path, now, report }: RestoreOptions): Promise<Restored> {
  removeOldDraft(`${path}.restoring`);
  removeAliases(path);
  const draft = openDraft(`${path}.restoring-`);
  const staged = draft.path;
  try {
    await stage(from, staged);
    const contents = await copyAndCheck({ from: undefined, path: staged }, report);
    giveToOwnerOf(dirname(path), [staged]);
    flushFile(staged);
    const before = isThere(path) ? nameOfBefore(path, now) : undefined;
    const isWhole = before !== undefined && keepStore(path, before, `${staged}-kept`);
    const compared = isWhole ? compareTokens(before, staged, now) : UNKNOWN;
    replaceFile(staged, path);
    removeSizeRecord(path);
    if (isWhole || before === undefined) removeLoneLogs(path);
    return { ...contents, before, ...compared };
  } finally {
    draft.end();
  }
}

const UNKNOWN: Comparison = { revived: undefined, isReadable: false };

/** A copy that this process may change, with the write-ahead log folded in that a folder may have been copied with. */
async function stage(from: string, staged: string): Promise<void> {
  await copyFile(from, staged, constants.COPYFILE_EXCL);
  chmodSync(staged, 0o600);
  if (existsSync(`${from}-wal`)) await copyFile(`${from}-wal`, `${staged}-wal`, constants.COPYFILE_EXCL);
  foldIn(staged);
}

/**
 * Makes a store one file: its write-ahead log goes into it and away, and so cannot be taken for the log of another one.
 * Fails with SQLite's code 5 when somebody else has it open.
 */
function foldIn(path: string): void {
  const db = new DatabaseSync(path, { timeout: writes.lockWaitMs });
  try {
    db.exec('PRAGMA synchronous = FULL');
    db.exec('PRAGMA journal_mode = DELETE');
  } finally {
    db.close();
  }
}

const LOGS = ['-wal', '-journal'] as const;

/** A log without its database counts as a store: it must not be taken for the log of the one that is restored. */
function isThere(path: string): boolean {
  return existsSync(path) || fileSize(`${path}-wal`) > 0;
}

/**
 * Gives the store a second name, under which it stays when the first one is given to another.
 *
 * @param draft as `keepFile` has it
 * @returns false when it is damaged, and was kept with its logs
 */
function keepStore(path: string, name: string, draft: string): boolean {
  // SQLite drops a log that it can make nothing of, and a damaged store would lose it.
  for (const suffix of LOGS) if (existsSync(path + suffix)) keepFile(path + suffix, name + suffix, draft);
  let isDamaged = fileSize(path) === 0;
  try {
    if (!isDamaged) makeLogDurable(path);
    if (!isDamaged) foldIn(path);
  } catch (error) {
    isDamaged = isDamage(error);
    if (!isDamaged) throw error;
  } finally {
    // Of a whole store they are folded in by now, or stay where they are.
    if (!isDamaged) for (const suffix of LOGS) rmSync(name + suffix, { force: true });
  }
  if (existsSync(path)) keepFile(path, name, draft);
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

/**
 * A restore that was killed before it had kept the store has kept its logs alone. While that store is damaged they may be
 * all that is left of them; afterwards nobody needs them.
 */
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
 * A restore that was killed between its last two steps leaves a second name for the store that is in use. SQLite would
 * damage a store that is opened by two names.
 */
function removeAliases(path: string): void {
  for (const name of aliasesOf(path)) rmSync(name);
}

/** Other names of a store's file that a restore gave it. */
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

/** Whoever restores as root does it for the user that the service runs as: gives files to the owner of a folder. */
export function giveToOwnerOf(folder: string, files: readonly string[]): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  for (const file of files) if (existsSync(file)) lchownSync(file, uid, gid);
}

/** What an earlier version has left that was killed: no restore is at work, because of the lock. */
function removeOldDraft(path: string): void {
  for (const suffix of ['', ...LOGS, '-shm']) rmSync(path + suffix, { force: true });
}
