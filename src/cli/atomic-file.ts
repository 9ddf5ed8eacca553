import { randomUUID } from 'node:crypto';
import { constants, lstatSync } from 'node:fs';
import { open, readlink, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { placeFile, replaceFile } from '../store/sqlite/files/durable-files.ts';
import { Failure } from './failure.ts';
import { codeOf, systemReasonOrCode } from './service/system-failure.ts';

export type Write = (text: string) => Promise<void>;

/** @param isTerminal whether the output goes to a terminal */
type Work<T> = (write: Write, isTerminal: boolean) => Promise<T>;

export type FileOptions = {
  /** Permissions; by default the previous file's or, for a new file, the system's default. */
  mode?: number | undefined;
  /** Whether it may replace a file; otherwise, throws a `Failure`. */
  replaces: boolean;
  /** Called when there is something to clean up soon: not while a pipe waits for its reader. */
  onBegin?(): void;
};

/**
 * Creates or replaces a file with what `work` writes, all or nothing. Resolves with the result of `work`. The content
 * goes to a draft beside the file and is on disk before the draft gets the name, so a crash never leaves half a file. A
 * link stays a link. Pipes, devices and files that the process has open already are written directly.
 */
export async function writeAtomically<T>(
  path: string,
  { mode, replaces, onBegin }: FileOptions,
  work: Work<T>,
): Promise<T> {
  const target = await targetOf(path);
  if (target.isPlain) {
    if (target.mode !== undefined && !replaces) throw thereAlready(path);
    onBegin?.();
    return replace(target.path, { mode: mode ?? target.mode, replaces }, work);
  }
  // Append, to keep what a shell or another command wrote there.
  await using file = await open(target.path, constants.O_WRONLY | constants.O_APPEND);
  onBegin?.();
  return await work((text) => file.writeFile(text), isatty(file.fd));
}

/**
 * Throws a `Failure` for a link that another user created: it may be a trap that makes this user overwrite one of their
 * own files. Linux does the same in folders such as /tmp (`fs.protected_symlinks`).
 */
export function refuseForeignLink(path: string): void {
  const link = lstatSync(path, { throwIfNoEntry: false });
  const user = process.geteuid?.();
  if (!link?.isSymbolicLink() || user === undefined || link.uid === 0 || link.uid === user) return;
  throw new Failure(`${path} is a link created by another user. Pass the file itself.`);
}

export function thereAlready(path: string): Failure {
  return new Failure(`${path} already exists. Choose another file, or replace it with --force.`);
}

/** Explains a failed system call, and adds advice; returns any other error unchanged. */
export function unwritable(path: string, error: unknown, advice: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const reason = error.code === 'ENOENT' ? 'its folder does not exist' : systemReasonOrCode(error);
  return new Failure(`${path} cannot be written: ${reason}. ${advice}`, { cause: error });
}

async function replace<T>(path: string, { mode, replaces }: FileOptions, work: Work<T>): Promise<T> {
  // Opening a new name with `wx` follows no link. A long name is cut: names have at most 255 bytes.
  const draft = join(dirname(path), `.${basename(path).slice(0, 50)}.${randomUUID()}.part`);
  try {
    const done = await writeTo(draft, mode, work);
    if (replaces) replaceFile(draft, path);
    else if (!placeFile(draft, path)) throw thereAlready(path);
    return done;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function writeTo<T>(draft: string, mode: number | undefined, work: Work<T>): Promise<T> {
  await using file = await open(draft, 'wx', mode);
  if (mode !== undefined) await file.chmod(mode);
  const done = await work((text) => file.writeFile(text), false);
  await file.sync();
  return done;
}

type Target = { path: string; isPlain: boolean; mode?: number };

/** Names of files that the process already has open, which cannot be replaced. */
export const OPEN = /^\/(?:dev\/(?:fd\/|std(?:in|out|err)$)|proc\/[^/]+\/fd\/)/;

async function targetOf(path: string): Promise<Target> {
  if (!OPEN.test(path)) refuseForeignLink(path);
  const stats = await stat(path).catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  if (stats === undefined) {
    const aim = await readlink(path).catch(() => undefined);
    return aim === undefined ? { path, isPlain: true } : targetOf(resolve(dirname(path), aim));
  }
  if (!stats.isFile() || OPEN.test(path)) return { path, isPlain: false };
  return { path: await realpath(path), isPlain: true, mode: stats.mode & 0o777 };
}
