import { AppError } from '../../../errors.ts';
import type { PlainCause, PlainError } from '../../write-outcomes.ts';

export const BUSY = 5;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;

/** Primary result codes (https://www.sqlite.org/rescode.html) for which the machine is to blame, not the command. */
const ENVIRONMENT = new Set([
  ...[BUSY, NOMEM, READONLY, IOERR, CORRUPT],
  ...[FULL, CANTOPEN, PROTOCOL, NOTADB],
]);

/** SQLITE_IOERR_WRITE, an extended code: the only I/O error that may not be the disk's fault. */
const WRITE_REFUSED = 778;

/** Names of failed calls, by their extended result code. */
const CALLS: Readonly<Record<number, string>> = {
  266: 'a read',
  522: 'a read',
  778: 'a write',
  1034: 'a flush (fsync)',
  1290: 'a flush (fsync)',
  1546: 'a truncation',
};

/** By the system's error code: temporary reasons why files cannot be written. */
const REFUSALS: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only. Check for disk errors (dmesg), and remount it read-write',
  ENOSPC: 'its disk is full. Free some space',
  EDQUOT: 'the disk quota of this user is used up. Raise it, or free some space',
};

/** Why the store cannot be used, with its path: for the log, never for clients. */
export class StoreFailure extends Error {
  /** Whether only a restart or a person can fix it: the process must exit. */
  readonly isFinal: boolean;

  constructor(message: string, { isFinal, cause }: { isFinal: boolean; cause?: unknown }) {
    super(message, { cause });
    this.name = 'StoreFailure';
    this.isFinal = isFinal;
  }
}

/** The extended SQLite result code of an error; undefined for other errors. */
function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

/** The primary SQLite result code of an error; undefined for other errors. */
export function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

/** Whether any command would fail now. */
export function isEnvironment(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && ENVIRONMENT.has(code);
}

/** Whether SQLite read invalid data. It reports an unreadable disk (EIO) the same way. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CORRUPT || code === NOTADB;
}

/** Whether a failed COMMIT may be on disk: after an I/O error in its flush, one was seen again after a restart. */
export function isUnknownOutcome(error: unknown): boolean {
  return sqliteCode(error) === IOERR || isDamage(error);
}

const IOERR_FSYNC = 1034;

/** Whether a flush failed: what was written may never reach the disk, even if a later flush succeeds. */
export function isLostFlush(error: unknown): boolean {
  return extendedCode(error) === IOERR_FSYNC;
}

export const COMMIT_FAILED = 'The store failed while it committed';

type Circumstances = {
  path: string;
  /** The system's code for why a small file cannot be written next to the store. */
  refusal?: string | undefined;
  /** Whether a COMMIT failed with this error and its outcome is unknown. */
  isCommit?: boolean;
};

/** Explains an error of SQLite for the store at this path, and what to do about it. */
export function explain(error: unknown, { path, refusal, isCommit = false }: Circumstances): StoreFailure {
  const code = sqliteCode(error);
  const passing = (message: string) => new StoreFailure(message, { isFinal: false, cause: error });
  const final = (message: string) => new StoreFailure(message, { isFinal: true, cause: error });

  // SQLite distinguishes a full disk from a failing one, and nothing else.
  const known = code === FULL ? 'ENOSPC' : extendedCode(error) === WRITE_REFUSED ? refusal : undefined;
  const refused = known && REFUSALS[known];
  if (refused)
    return passing(
      `${path} cannot be written (${known}): ${refused}. Reads continue; writes resume once this is fixed.`,
    );
  if (!isCommit) {
    const reason =
      code === IOERR ? `${callOf(error)} failed. Check for disk errors (dmesg)` : REASONS[code ?? 0];
    return passing(`${path} cannot be used: ${reason ?? messageOf(error)}.`);
  }
  const unknown = `${COMMIT_FAILED}, so the outcome is unknown:`;
  if (code === undefined) return final(`${unknown} ${messageOf(error)}.`);
  const probed = refusal ? `; a small write next to it fails with ${refusal}` : '';
  return final(
    `${unknown} ${callOf(error)} on ${path} failed${probed}. ` +
      'Check for disk errors (dmesg), then restart the service: it continues with what reached the disk.',
  );
}

/** The disk is readable, but its data is invalid. */
export function damaged(path: string, cause: unknown): StoreFailure {
  return new StoreFailure(
    `${path} is damaged: SQLite cannot interpret it (code ${extendedCode(cause)}), and the disk reports no error. ` +
      'Check it with "plant-store doctor", and restore the last backup with "plant-store restore".',
    { isFinal: true, cause },
  );
}

const REASONS: Readonly<Record<number, string>> = {
  [BUSY]: 'another program holds its lock',
  [NOMEM]: 'out of memory',
  [READONLY]: 'this user may not write to it (EACCES), or its file system is read-only (EROFS)',
  [CORRUPT]: 'it is damaged, or the disk cannot be read (EIO); reading the whole store to find out',
  [CANTOPEN]: 'one of its files cannot be opened. Check the permissions of its folder',
  [PROTOCOL]: 'its locks cannot be acquired',
  [NOTADB]: 'it is damaged, or the disk cannot be read (EIO); reading the whole store to find out',
};

function callOf(error: unknown): string {
  const code = extendedCode(error);
  return `${CALLS[code ?? 0] ?? 'a file operation'} (SQLite code ${code})`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function toPlain({ code, message, headers, cause }: AppError): PlainError {
  return {
    code,
    message,
    headers: { ...headers },
    cause: cause instanceof Error ? plainCause(cause) : undefined,
  };
}

export function fromPlain({ code, message, headers, cause }: PlainError): AppError {
  return new AppError(code, message, { headers, cause: cause && causeOf(cause) });
}

function plainCause(cause: Error): PlainCause {
  const { message, stack } = cause;
  const isFinal = cause instanceof StoreFailure ? cause.isFinal : undefined;
  return { message, stack, isFinal, errcode: extendedCode(cause) };
}

function causeOf({ message, stack, isFinal, errcode }: PlainCause): Error {
  const cause = isFinal === undefined ? new Error(message) : new StoreFailure(message, { isFinal });
  // The stack of the other thread, where it was thrown.
  if (stack !== undefined) cause.stack = stack;
  return errcode === undefined ? cause : Object.assign(cause, { errcode });
}
