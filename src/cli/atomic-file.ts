import { randomUUID } from 'node:crypto';
import { constants, lstatSync } from 'node:fs';
import { type FileHandle, open, readlink, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { replaceFile } from '../store/sqlite/files/durable-files.ts';
import { Failure } from './failure.ts';
import { systemReasonOrCode } from './service/system-failure.ts';

/** Writes text behind what was written before. */
export type Write = (text: string) => Promise<void>;

/** @param isTerminal whether what is written is shown, rather than kept */
type Work = (write: Write, isTerminal: boolean) => Promise<void>;

export type FileOptions = {
  /** Of the file; when absent, that of the one before or, of a new one, what the system gives. */
  mode?: number;
};

/**
 * Makes a file, or replaces it, with what the work writes: all of it when the work succeeds, else nothing. Until then
 * it is in a file beside it, and on disk before it takes the name, so that no crash leaves half of it. A link stays one;
 * what is not a regular file, such as a pipe, is written to as it comes, and so is what the process has open already.
 */
export async function writeAtomically(path: string, { mode }: FileOptions, work: Work): Promise<void> {
  const target = await targetOf(path);
  if (target.isPlain) return replace(target.path, mode ?? target.mode, work);
  // Behind what a shell, or another command, has written there.
  const file = await open(target.path, constants.O_WRONLY | constants.O_APPEND);
  try {
    await work((text) => file.writeFile(text), isatty(file.fd));
  } finally {
    await file.close();
  }
}

/**
 * Throws a `Failure` for a link that another user made: it may be there so that this user writes over a file of theirs.
 * Linux does the same in folders such as /tmp (`fs.protected_symlinks`).
 */
export function refuseForeignLink(path: string): void {
  const link = lstatSync(path, { throwIfNoEntry: false });
  const user = process.geteuid?.();
  if (!link?.isSymbolicLink() || user === undefined || link.uid === 0 || link.uid === user) return;
  throw new Failure(`${path} is a link that another user made. Name the file itself.`);
}

/** What the system refused, in words and with what to do then; any other error as it is. */
export function unwritable(path: string, error: unknown, advice: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const reason = error.code === 'ENOENT' ? 'its folder does not exist' : systemReasonOrCode(error);
  return new Failure(`${path} cannot be written: ${reason}. ${advice}`, { cause: error });
}

/** A name that nothing has. It is opened with `wx`, which follows no link. */
function draftOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomUUID()}.part`);
}

async function replace(path: string, mode: number | undefined, work: Work): Promise<void> {
  const draft = draftOf(path);
  const file = await open(draft, 'wx', mode);
  try {
    if (mode !== undefined) await file.chmod(mode);
    await workOn(file, work);
    replaceFile(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function workOn(file: FileHandle, work: Work): Promise<void> {
  try {
    await work((text) => file.writeFile(text), false);
    await file.sync();
  } finally {
    await file.close();
  }
}

type Target = { path: string; isPlain: boolean; mode?: number };

/** Names of what the process has open: there is nothing behind them to be replaced. */
const OPEN = /^\/(?:dev\/(?:fd\/|std(?:out|err)$)|proc\/[^/]+\/fd\/)/;

async function targetOf(path: string): Promise<Target> {
  if (!OPEN.test(path)) refuseForeignLink(path);
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

/** Whether it has one of these codes. */
function isOf(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
