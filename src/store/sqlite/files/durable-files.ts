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
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Changes to files that are on disk when the functions return. */

/** Flushes a file, whatever handle wrote to it. */
export function flushFile(path: string): void {
  flush(path, 'r+');
}

/** Flushes the names in a folder: a power cut may otherwise lose a new name, and with it the file. */
export function flushFolder(path: string): void {
  try {
    flush(path, 'r');
  } catch (error) {
    // Windows cannot open folders and writes them by itself; some file systems cannot flush a folder, and some folders
    // are writable but not readable.
    if (process.platform !== 'win32' && !UNFLUSHED.has(codeOf(error))) throw error;
  }
}

function flush(path: string, mode: 'r' | 'r+'): void {
  using file = openFile(path, mode);
  fsyncSync(file.fd);
}

/** Opens a file until its disposal. */
export function openFile(path: string, flags: string | number): Disposable & { fd: number } {
  const fd = openSync(path, flags);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}

/** A file has its final name, but maybe not after a power cut; the message is a sentence for a person. */
export class UnflushedName extends Error {
  constructor(path: string, cause: unknown) {
    super(
      `${path} is complete and in place, but its folder could not be flushed to the disk (${codeOf(cause)}): after a ` +
        "power cut, what was there before may be back. Check the system's log for disk errors.",
      { cause },
    );
    this.name = 'UnflushedName';
  }
}

/**
 * Gives a complete file, already on disk, its final name, replacing any file of that name.
 * @throws UnflushedName; errors of the file system when nothing was done
 */
export function replaceFile(from: string, to: string): void {
  renameSync(from, to);
  flushName(to);
}

function flushName(path: string): void {
  try {
    flushFolder(dirname(path));
  } catch (error) {
    throw new UnflushedName(path, error);
  }
}

/** Like `replaceFile`, but does nothing and returns false if the name is taken. */
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
  flushName(to);
  return true;
}

/**
 * Gives a file a second name, so that replacing the first does not lose it.
 * @param draft unused path to copy it to first on a file system without hard links
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

/** Error codes of file systems without hard links, such as FAT. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** The size of a file in bytes; 0 if it does not exist. */
export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
