import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Failure } from './failure.ts';
import { systemReasonOrCode } from './system-failure.ts';

/** Writes text behind what was written before. */
export type Write = (text: string) => Promise<void>;

export type FileOptions = {
  /** Of the file; when absent, that of the one before or, of a new one, what the system gives. */
  mode?: number;
};

/**
 * Makes a file, or replaces it, with what the work writes: all of it when the work succeeds, else nothing. Until then
 * it is in a file beside it, and on disk before it takes the name, so that no crash leaves half of it. A link stays one;
 * what is not a regular file, such as a pipe, is written to as it comes, and so is what the process has open already.
 */
export async function writeAtomically(
  path: string,
  { mode }: FileOptions,
  work: (write: Write) => Promise<void>,
): Promise<void> {
  const target = await targetOf(path);
  if (target.isPlain) return replace(target.path, mode ?? target.mode, work);
  // Behind what a shell, or another command, has written there.
  const file = await open(target.path, 'a');
  try {
    await work((text) => file.writeFile(text));
  } finally {
    await file.close();
  }
}

/** What the system refused, in words and with what to do then; any other error as it is. */
export function unwritable(path: string, error: unknown, advice: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const reason = error.code === 'ENOENT' ? 'its folder does not exist' : systemReasonOrCode(error);
  return new Failure(`${path} cannot be written: ${reason}. ${advice}`, { cause: error });
}

async function replace(path: string, mode: number | undefined, work: (write: Write) => Promise<void>) {
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}.part`);
  // Nothing that is there already is taken for a draft, such as a link that leads elsewhere.
  const file = await open(draft, 'wx', mode);
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

/** So that the new name survives a power cut, too, where the folder may be read and its file system can do it. */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(path, 'r');
    await folder.sync();
  } catch (error) {
    if (!isOf(error, 'EACCES', 'EINVAL')) throw error;
  } finally {
    await folder?.close();
  }
}

type Target = { path: string; isPlain: boolean; mode?: number };

/** Names of what the process has open: there is nothing behind them to be replaced. */
const OPEN = /^\/(?:dev\/(?:fd\/|std(?:out|err)$)|proc\/[^/]+\/fd\/)/;

async function targetOf(path: string): Promise<Target> {
  const stats = await stat(path).catch((error) => {
    if (!isOf(error, 'ENOENT')) throw error;
  });
  if (stats === undefined) {
    const aim = await readlink(path).catch(() => undefined);
    return aim === undefined ? { path, isPlain: true } : targetOf(resolve(dirname(path), aim));
  }
  if (!stats.isFile() || OPEN.test(path)) return { path, isPlain: false };
  return { path: await realpath(path), isPlain: true, mode: stats.mode & 0o777 };
}

function isOf(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
