import { lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { tryLock } from '../files/lock.ts';

/** Where a store is written until it is whole: in a folder that nobody else may enter, beside the place that it is for. */
export type Draft = {
  /** Nothing is there yet. */
  path: string;
  /** Takes away what is left. */
  end(): void;
};

/** In the folder, and what SQLite puts beside them. */
const LOCK = 'lock';
const STORE = 'store';

/**
 * Makes a folder whose name begins so, and removes those of processes that were killed. A process works in a folder as
 * long as its lock is held, which the system releases however the process ends.
 *
 * @throws errors of the file system and of SQLite
 */
export function openDraft(prefix: string): Draft {
  removeLeft(prefix);
  for (;;) {
    const folder = mkdtempSync(prefix);
    const unlock = lockIn(folder);
    if (unlock === undefined) continue;
    return {
      path: join(folder, STORE),
      end() {
        remove(folder);
        unlock();
      },
    };
  }
}

/** Undefined when another process has taken the folder for one that was left, before it was locked. */
function lockIn(folder: string): (() => void) | undefined {
  try {
    return tryLock(join(folder, LOCK), 0);
  } catch (error) {
    if (!isThere(folder)) return undefined;
    remove(folder);
    throw error;
  }
}

/** What cannot be removed does no harm to what is new. */
function removeLeft(prefix: string): void {
  const name = basename(prefix);
  try {
    for (const entry of readdirSync(dirname(prefix), { withFileTypes: true })) {
      const isNamedSo = entry.name.startsWith(name) && /^\w{6}$/.test(entry.name.slice(name.length));
      if (isNamedSo && entry.isDirectory()) removeIfLeft(join(entry.parentPath, entry.name));
    }
  } catch {}
}

/** Leaves alone what another process works in, what is another user's, and what is no draft. */
function removeIfLeft(folder: string): void {
  if (lstatSync(folder).uid !== process.geteuid?.()) return;
  const names = readdirSync(folder);
  if (!names.every((name) => name.startsWith(LOCK) || name.startsWith(STORE))) return;
  // A process that was killed before it had a lock has written nothing else.
  if (!names.includes(LOCK)) return void rmdirSync(folder);
  const unlock = tryLock(join(folder, LOCK), 0);
  if (unlock === undefined) return;
  remove(folder);
  unlock();
}

/** The lock goes last: a process that is killed meanwhile leaves a draft that is known as one. */
function remove(folder: string): void {
  if (!isThere(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(LOCK)) rmSync(join(folder, name), { force: true });
  }
  // SQLite may add a file meanwhile, in a thread that an interruption has not ended yet.
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

function isThere(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false }) !== undefined;
}
