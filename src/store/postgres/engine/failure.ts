import pg from 'pg';
import { database as limits } from '../../../limits.ts';
import { type Log, throttle } from '../../../runtime.ts';

/** PostgreSQL's error codes (https://www.postgresql.org/docs/current/errcodes-appendix.html). */

export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The connection broke or the response timed out: what the server did is unknown. */
class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('The connection to the database was lost.', { cause });
    this.name = 'ConnectionLost';
  }
}

/**
 * Call it where a statement fails: the library has many errors for a lost connection. An error of the server may quote a
 * row or, by a setting of the server, all values of the statement, which must not be logged.
 */
export function ofStatement(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return new ConnectionLost(error);
  error.detail = undefined;
  error.where = undefined;
  return error;
}

/** Logs each reason once in a while, however many requests it fails. */
export function reasonLog(log: Log, message: string): (error: unknown) => void {
  const isDue = new Map<string, () => boolean>();
  return (error) => {
    const reason = sqlState(error) ?? '';
    if (isDue.getOrInsertComputed(reason, () => throttle(limits.repeatMs))())
      log.warn({ err: error }, message);
  };
}

const SERIALIZATION_FAILURE = '40001';
const DEADLOCK_DETECTED = '40P01';
export const UNIQUE_VIOLATION = '23505';
export const LOCK_NOT_AVAILABLE = '55P03';
export const READ_ONLY_TRANSACTION = '25006';

/** Whether retrying the same transaction may succeed. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  return state === SERIALIZATION_FAILURE || state === DEADLOCK_DETECTED;
}

const INVALID_AUTHORIZATION = '28000';
const INVALID_PASSWORD = '28P01';
const REFUSED_LOGINS = new Set([
  '53300', // too many connections
  INVALID_AUTHORIZATION,
  INVALID_PASSWORD,
  '08P01', // PgBouncer's code for any refusal, such as by `max_client_conn`
]);

/** Whether a server that works refused a login. Its other connections continue. */
export function isRefusedLogin(error: unknown): boolean {
  return REFUSED_LOGINS.has(sqlState(error) ?? '');
}

/** Classes for which the server or the network is to blame, not the command. */
const ENVIRONMENT = new Set([
  '08', // connection exception
  '53', // insufficient resources: disk, memory, connections
  '57', // operator intervention: a cancel, a shutdown
  '58', // system error
  'F0', // configuration file error
  'XX', // internal error, data corrupted among them
]);
/** Further single codes of that kind. */
const ENVIRONMENT_CODES = new Set([
  READ_ONLY_TRANSACTION,
  INVALID_AUTHORIZATION,
  INVALID_PASSWORD,
  '3D000', // no such database
  '42501', // insufficient privilege
  '42P01', // no such table: the store was dropped, or is not there yet
  '42703', // no such column
  '42883', // no such function
  LOCK_NOT_AVAILABLE,
  '25P03', // idle in transaction for too long
  '25P04', // a transaction that lasted too long
]);

/** Whether any command would fail now. */
export function isEnvironment(error: unknown): boolean {
  const state = sqlState(error);
  if (state === undefined) return error instanceof ConnectionLost;
  return ENVIRONMENT.has(state.slice(0, 2)) || ENVIRONMENT_CODES.has(state) || isTransient(error);
}

/** Whether to drop the connection: it is broken, or leads to a server that takes no writes. */
export function isOfConnection(error: unknown): boolean {
  return isUnknownOutcome(error) || sqlState(error) === READ_ONLY_TRANSACTION;
}

/**
 * Whether a transaction sent with its COMMIT may be committed despite this error. The server's errors precede the
 * commit, except when it ends a session that waits for a synchronous standby.
 */
export function isUnknownOutcome(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('57P') || state.startsWith('08'));
}

/** PostgreSQL's warning of an interrupted wait for a synchronous standby: committed here, perhaps nowhere else. */
export function isReplicationWarning(notice: { routine?: string | undefined }): boolean {
  return notice.routine === 'SyncRepWaitForLSN';
}

export const COMMIT_FAILED = 'The connection to the store was lost during the commit';
