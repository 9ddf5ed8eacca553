import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { storePath } from '../../config/config.ts';
import { AppError } from '../../errors.ts';
import { StoreFailure, sqliteCode } from '../../store/sqlite/engine/failure.ts';
import { Failure } from '../failure.ts';
import { codeOf, systemAdvice, systemReason, systemReasonOrCode } from './system-failure.ts';

const RESTORE =
  'Keep a copy of the data folder, then restore a backup: plant-store restore FILE. For details, run plant-store doctor.';

/** The reason and the advice, by SQLite's primary result code. */
const storeFailures: Readonly<Record<number, readonly [reason: string, advice: string]>> = {
  5: ['another program holds its lock', 'Stop that program, or wait for it.'],
  8: [
    'it cannot be written',
    'Check that the user of the service can write to everything in the data folder.',
  ],
  10: ['the disk reports an error', "Check the system's log, and move the data folder to a healthy disk."],
  11: ['its file is damaged', RESTORE],
  13: ['the disk is full', 'Free up space.'],
  14: [
    'its file cannot be opened or created',
    'Check that the user of the service can read and write everything in the data folder, and that the disk has space.',
  ],
  26: ['its file is not a database', RESTORE],
};

/** SQLITE_IOERR_SHMSIZE: the -shm file cannot grow. Unlike for the other files, SQLite does not say that the disk is full. */
const SHM_FULL = 4874;

/** Why SQLite cannot use the store, for the end of a sentence, and what to do; undefined for other errors. */
export function sqliteWords(error: unknown): readonly [reason: string, advice: string] | undefined {
  const isFull = error instanceof Error && 'errcode' in error && error.errcode === SHM_FULL;
  return storeFailures[isFull ? 13 : (sqliteCode(error) ?? -1)];
}

/** The system's error behind SQLite's extended result code. */
const systemCodes: Readonly<Record<number, string>> = {
  13: 'ENOSPC, ',
  [SHM_FULL]: 'ENOSPC, ',
  8458: 'EIO, ',
};

/**
 * Explains a failure of the embedded store's files or their content in one line, with the file, the error code and
 * advice. Returns any other error unchanged.
 */
export function storeFailure(error: unknown, dataDir: string): unknown {
  if (!(error instanceof Error)) return error;
  // Its own message hides the reason, since clients get it, too.
  if (error instanceof AppError && error.code === 50302) return reasonOf(error, dataDir);
  const sqlite = sqliteCode(error);
  if (sqlite !== undefined) {
    const [reason, advice] = sqliteWords(error) ?? ['SQLite cannot open it', ''];
    const code = 'errcode' in error ? Number(error.errcode) : sqlite;
    const said = `${systemCodes[code] ?? ''}SQLite ${code}: ${error.message}`;
    const text = `The store ${storePath(dataDir)} cannot be used: ${reason} (${said}).`;
    return new Failure(`${text} ${advice}`.trimEnd(), { cause: error });
  }
  const { syscall, path }: NodeJS.ErrnoException = error;
  if (syscall === 'mkdir') return madeInVain(error, dataDir);
  const reason = systemReason(error);
  if (reason === undefined || path === undefined) return error;
  return new Failure(`${path} cannot be used: ${reason} (${codeOf(error)}). ${systemAdvice(error)}`, {
    cause: error,
  });
}

function reasonOf(error: AppError, dataDir: string): unknown {
  const reason = storeFailure(error.cause, dataDir);
  return reason instanceof Failure || reason instanceof StoreFailure ? reason : error;
}

function madeInVain(error: Error, dataDir: string): Failure {
  // On a read-only file system Node reports a missing folder.
  const cause = codeOf(error) === 'ENOENT' ? (refusalOf(nearestFolder(dataDir)) ?? error) : error;
  const text = `The data folder ${dataDir} cannot be created: ${systemReasonOrCode(cause)} (${codeOf(cause)}).`;
  return new Failure(`${text} ${systemAdvice(cause) ?? ''}`.trimEnd(), { cause: error });
}

function refusalOf(folder: string): unknown {
  try {
    accessSync(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}

function nearestFolder(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestFolder(dirname(path));
}
