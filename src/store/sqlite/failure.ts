/** Primary result codes (https://www.sqlite.org/rescode.html) that blame the machine, not the command. */
const ENVIRONMENT = new Set([
  5, // SQLITE_BUSY
  7, // SQLITE_NOMEM
  8, // SQLITE_READONLY
  10, // SQLITE_IOERR
  11, // SQLITE_CORRUPT
  13, // SQLITE_FULL
  14, // SQLITE_CANTOPEN
  15, // SQLITE_PROTOCOL
  26, // SQLITE_NOTADB
]);
const IOERR = 10;

/** The primary SQLite result code of an error, or undefined when it is not SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

/** Whether every command would fail now, whatever it says. */
export function isEnvironment(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && ENVIRONMENT.has(code);
}

/**
 * Whether a COMMIT that failed so may still have reached the disk: after an I/O error on its flush the
 * transaction was seen again after a restart.
 */
export function isUnknownOutcome(error: unknown): boolean {
  return sqliteCode(error) === IOERR;
}

/** What is said of a commit whose outcome is unknown. */
export const COMMIT_FAILED = 'The store failed while it committed';
