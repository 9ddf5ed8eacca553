import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { storePath } from '../../config/config.ts';
import { sqliteCode } from '../../store/sqlite/engine/failure.ts';
import { Failure } from '../failure.ts';
import { systemAdvice, systemReason, systemReasonOrCode } from './system-failure.ts';

const RESTORE =
  'Keep a copy of the data folder, then restore a backup: plant-store restore FILE. plant-store doctor says more.';

/** What is wrong, and what to do about it, by SQLite's primary result code. */
const storeFailures: Readonly<Record<number, readonly [reason: string, advice: string]>> = {
  5: ['another program holds its lock', 'End that program, or wait for it.'],
  8: [
    'it cannot be written',
    'See that the user of the service may write to all that is in the data folder.',
  ],
  10: [
    'the disk reports an error',
    "See the system's log for the disk, and move the data folder to a sound one.",
  ],
  11: ['its file is damaged', RESTORE],
  13: ['the disk is full', 'Make room.'],
  14: [
    'its file cannot be opened or made',
    'See that the user of the service may read and write all that is in the data folder, and that there is room.',
  ],
  26: ['its file is not a database', RESTORE],
};

/** Why SQLite cannot use the store, for the end of a sentence; undefined for an error that is none of these. */
export function sqliteReason(error: unknown): string | undefined {
  return storeFailures[sqliteCode(error) ?? -1]?.[0];
}

/** What the system said, by SQLite's extended result code. */
const systemCodes: Readonly<Record<number, string>> = { 13: 'ENOSPC, ', 8458: 'EIO, ' };

/**
 * A failure of the embedded store's files, or of what is in them, in one line that names the file, the code of the error
 * and what to do. Anything else is given back as it is.
 */
export function storeFailure(error: unknown, dataDir: string): unknown {
  if (!(error instanceof Error)) return error;
  const sqlite = sqliteCode(error);
  if (sqlite !== undefined) {
    const [reason, advice] = storeFailures[sqlite] ?? ['SQLite cannot open it', ''];
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

function madeInVain(error: Error, dataDir: string): Failure {
  // On a read-only file system Node says that it found no folder.
  const cause = codeOf(error) === 'ENOENT' ? (refusalOf(nearestFolder(dataDir)) ?? error) : error;
  const text = `The data folder ${dataDir} cannot be made: ${systemReasonOrCode(cause)} (${codeOf(cause)}).`;
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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
