import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Changes of files that are on disk when they return. */

/** Flushes what was written to a file, through whatever handle. */
export function flushFile(path: string): void {
  flush(path, 'r+');
}

/** Flushes which names a folder has: a new name is else gone after a power cut, with all that it led to. */
export function flushFolder(path: string): void {
  try {
    flush(path, 'r');
  } catch (error) {
    // Windows opens no folder, and has it on disk by itself; some file systems cannot flush one, and some folders may be
    // written, but not read.
    if (process.platform !== 'win32' && !UNFLUSHED.has(codeOf(error))) throw error;
  }
}

function flush(path: string, mode: 'r' | 'r+'): void {
  const file = openSync(path, mode);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Gives a whole file, which is on disk already, the name that it is for, in place of what has that name. */
export function replaceFile(from: string, to: string): void {
  renameSync(from, to);
  flushFolder(dirname(to));
}

/**
 * The same, unless something has that name.
 *
 * @returns false, and does nothing, when something has it
 */
export function placeFile(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    rmSync(from);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!NO_LINKS.has(codeOf(error))) throw error;
    if (existsSync(to)) return false;
    renameSync(from, to);
  }
  flushFolder(dirname(to));
  return true;
}

/**
 * Keeps a file under a second name that nothing has, so that replacing the first one does not lose it.
 *
 * @param draft where it is copied to first on a file system without hard links: nothing is there
 */
export function keepFile(path: string, name: string, draft: string): void {
  try {
    linkSync(path, name);
  } catch (error) {
    if (!NO_LINKS.has(codeOf(error))) throw error;
    copyFileSync(path, draft, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    flushFile(draft);
    renameSync(draft, name);
  }
  flushFolder(dirname(name));
}

const UNFLUSHED = new Set(['EACCES', 'EINVAL']);

/** What file systems say that have no hard links, such as FAT. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
