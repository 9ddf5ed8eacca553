import { lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { tryLock } from '../files/lock.ts';

export type UnfinishedStore = ReturnType<typeof openUnfinishedStore>;

/** Names in the folder, and prefixes of those that SQLite adds. */
const LOCK = 'lock';
const STORE = 'store';

/**
 * Where a store is written until it is complete: in a folder next to its final place that nobody else may enter.
 * Creates a folder with this prefix and removes those of killed processes. The lock in a folder marks it as used; the
 * system releases it however the process ends.
 * @throws errors of the file system and of SQLite
 */
export function openUnfinishedStore(prefix: string) {
  removeLeft(prefix);
  for (;;) {
    const folder = mkdtempSync(prefix);
    const lock = lockIn(folder);
    if (lock === undefined) continue;
    return {
      /** Nothing exists here yet. */
      path: join(folder, STORE),
      /** What cannot be removed must not hide why the store was not finished; the next one removes it. */
      [Symbol.dispose](): void {
        try {
          remove(folder);
        } catch {}
        lock[Symbol.dispose]();
      },
    };
  }
}

/** Undefined if another process took the folder for an abandoned one before it was locked. */
function lockIn(folder: string): Disposable | undefined {
  try {
    return tryLock(join(folder, LOCK), 0);
  } catch (error) {
    if (!isThere(folder)) return undefined;
    remove(folder);
    throw error;
  }
}

/** What cannot be removed does no harm to the new one. */
function removeLeft(prefix: string): void {
  const name = basename(prefix);
  try {
    for (const entry of readdirSync(dirname(prefix), { withFileTypes: true })) {
      const isNamedSo = entry.name.startsWith(name) && /^\w{6}$/.test(entry.name.slice(name.length));
      if (isNamedSo && entry.isDirectory()) removeIfLeft(join(entry.parentPath, entry.name));
    }
  } catch {}
}

/** Leaves alone folders that another process uses, that another user owns, or that hold something else. */
function removeIfLeft(folder: string): void {
  if (lstatSync(folder).uid !== process.geteuid?.()) return;
  const names = readdirSync(folder);
  if (!names.every((name) => name.startsWith(LOCK) || name.startsWith(STORE))) return;
  // A process killed before it had the lock has written nothing else.
  if (!names.includes(LOCK)) return void rmdirSync(folder);
  using lock = tryLock(join(folder, LOCK), 0);
  if (lock !== undefined) remove(folder);
}

/** Removes the lock last: if this process is killed meanwhile, the rest is still recognized. */
function remove(folder: string): void {
  if (!isThere(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith(STORE)) rmSync(join(folder, name), { force: true });
  }
  // An interrupted thread may still be running, and SQLite in it may add a file.
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

function isThere(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false }) !== undefined;
}
