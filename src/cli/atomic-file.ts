import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Writes text behind what was written before. */
export type Write = (text: string) => Promise<void>;

export type FileOptions = {
  /** Of the file; when absent, that of the one before or, of a new one, what the system gives. */
  mode?: number;
};

/**
 * Makes a file, or replaces it, with what the work writes: all of it when the work succeeds, else nothing. Until then
 * it is in a file beside it, and on disk before it takes the name, so that no crash leaves half of it. A link stays one;
 * what is not a regular file, such as a pipe, is written to as it comes.
 */
export async function writeAtomically(
  path: string,
  { mode }: FileOptions,
  work: (write: Write) => Promise<void>,
): Promise<void> {
  const target = await targetOf(path);
  if (target.isPlain) return replace(target.path, mode ?? target.mode, work);
  const file = await open(target.path, 'w');
  try {
    await work((text) => file.writeFile(text));
  } finally {
    await file.close();
  }
}

async function replace(path: string, mode: number | undefined, work: (write: Write) => Promise<void>) {
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.part`);
  const file = await open(draft, 'w', mode);
  try {
    if (mode !== undefined) await file.chmod(mode);
    await workOn(file, work);
    await rename(draft, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function workOn(file: FileHandle, work: (write: Write) => Promise<void>): Promise<void> {
  try {
    await work((text) => file.writeFile(text));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** So that the new name survives a power cut, too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

type Target = { path: string; isPlain: boolean; mode?: number };

async function targetOf(path: string): Promise<Target> {
  try {
    const real = await realpath(path);
    const stats = await stat(real);
    return { path: real, isPlain: stats.isFile(), mode: stats.mode & 0o777 };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { path, isPlain: true };
    throw error;
  }
}
