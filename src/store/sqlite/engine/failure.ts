const BUSY = 5;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;

/** Primary result codes (https://www.sqlite.org/rescode.html) that blame the machine, not the command. */
const ENVIRONMENT = new Set([
  ...[BUSY, NOMEM, READONLY, IOERR, CORRUPT],
  ...[FULL, CANTOPEN, PROTOCOL, NOTADB],
]);

/** SQLITE_IOERR_WRITE, an extended code: of all I/O errors the one that may be no fault of the disk. */
export const WRITE_REFUSED = 778;

/** Failed calls that have a name here, by their extended result code. */
const CALLS: Readonly<Record<number, string>> = {
  266: 'a read',
  522: 'a read',
  778: 'a write',
  1034: 'a flush (fsync)',
  1290: 'a flush (fsync)',
  1546: 'a truncation',
};

/** By the code of the system: what keeps files from being written, and passes. */
const REFUSALS: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only. Look for disk errors (dmesg), and mount it read-write again',
  ENOSPC: 'its disk is full. Free some space',
  EDQUOT: 'the disk quota of this user is used up. Raise it, or free some space',
};

/** Why the store cannot be used, with its path, for the log; never for clients. */
export class StoreFailure extends Error {
  /** Whether it can only be overcome by a new start, or by a person: the process must end. */
  readonly isFinal: boolean;

  constructor(message: string, { isFinal, cause }: { isFinal: boolean; cause?: unknown }) {
    super(message, { cause });
    this.name = 'StoreFailure';
    this.isFinal = isFinal;
  }
}

/** The extended SQLite result code of an error, or undefined when it is not SQLite's. */
export function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

/** The primary SQLite result code of an error, or undefined when it is not SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

/** Whether every command would fail now, whatever it says. */
export function isEnvironment(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && ENVIRONMENT.has(code);
}

/** Whether what was read makes no sense. SQLite says the same when the disk cannot be read (EIO). */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CORRUPT || code === NOTADB;
}

/**
 * Whether a COMMIT that failed so may still have reached the disk: after an I/O error on its flush the
 * transaction was seen again after a restart.
 */
export function isUnknownOutcome(error: unknown): boolean {
  return sqliteCode(error) === IOERR || isDamage(error);
}

const IOERR_FSYNC = 1034;

/** Whether a file could not be flushed: what was written to it may never reach the disk, whatever a later flush says. */
export function isLostFlush(error: unknown): boolean {
  return extendedCode(error) === IOERR_FSYNC;
}

/** What is said of a commit whose outcome is unknown. */
export const COMMIT_FAILED = 'The store failed while it committed';

type Circumstances = {
  path: string;
  /** Why a small file cannot be written beside the store, as the system's code. */
  refusal?: string | undefined;
  /** Whether the error is that of a COMMIT whose outcome is unknown. */
  isCommit?: boolean;
};

/** What an error of SQLite means for the store at this path, and what to do about it. */
export function explain(error: unknown, { path, refusal, isCommit = false }: Circumstances): StoreFailure {
  const code = sqliteCode(error);
  const passing = (message: string) => new StoreFailure(message, { isFinal: false, cause: error });
  const final = (message: string) => new StoreFailure(message, { isFinal: true, cause: error });

  // SQLite tells a full disk from a disk that fails, and nothing else.
  const known = code === FULL ? 'ENOSPC' : extendedCode(error) === WRITE_REFUSED ? refusal : undefined;
  const refused = known && REFUSALS[known];
  if (refused)
    return passing(`${path} cannot be written (${known}): ${refused}. Reads go on, and so do writes then.`);
  if (!isCommit) {
    const reason =
      code === IOERR ? `${callOf(error)} failed. Look for disk errors (dmesg)` : REASONS[code ?? 0];
    return passing(`${path} cannot be used: ${reason ?? messageOf(error)}.`);
  }
  const unknown = `${COMMIT_FAILED}, so the outcome is unknown:`;
  if (code === undefined) return final(`${unknown} ${messageOf(error)}.`);
  const probed = refusal ? `; a small write beside it fails with ${refusal}` : '';
  return final(
    `${unknown} ${callOf(error)} on ${path} failed${probed}. ` +
      'Look for disk errors (dmesg), then start the service again: it continues with what reached the disk.',
  );
}

/** The disk can be read, and what is read makes no sense. */
export function damaged(path: string, cause: unknown): StoreFailure {
  return new StoreFailure(
    `${path} is damaged: SQLite cannot make sense of it (code ${extendedCode(cause)}), and the disk reports no error. ` +
      'Check it with "plant-store doctor", and bring the last backup back with "plant-store restore".',
    { isFinal: true, cause },
  );
}

/** By primary result code. */
const REASONS: Readonly<Record<number, string>> = {
  [BUSY]: 'another program holds its lock',
  [NOMEM]: 'there is no memory left',
  [READONLY]: 'this user may not write it (EACCES), or its file system is read-only (EROFS)',
  [CORRUPT]: 'it is damaged, or the disk cannot be read (EIO); reading all of it to find out',
  [CANTOPEN]: 'one of its files cannot be opened. Look at the permissions of its folder',
  [PROTOCOL]: 'its locks cannot be taken',
  [NOTADB]: 'it is damaged, or the disk cannot be read (EIO); reading all of it to find out',
};

function callOf(error: unknown): string {
  const code = extendedCode(error);
  return `${CALLS[code ?? 0] ?? 'a file operation'} (SQLite code ${code})`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
