import pg from 'pg';

/** What PostgreSQL says of a failure (https://www.postgresql.org/docs/current/errcodes-appendix.html). */

export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The connection broke off, or its answer did not come in time: nobody knows what the server did. */
class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('The connection to the database broke off.', { cause });
    this.name = 'ConnectionLost';
  }
}

/** What a statement failed with, where it is sent: the library says in many ways that a connection is gone. */
export function ofStatement(error: unknown): unknown {
  return error instanceof pg.DatabaseError ? error : new ConnectionLost(error);
}

const SERIALIZATION_FAILURE = '40001';
const DEADLOCK_DETECTED = '40P01';
export const UNIQUE_VIOLATION = '23505';
export const LOCK_NOT_AVAILABLE = '55P03';
const READ_ONLY_TRANSACTION = '25006';

/** Whether the same transaction may well succeed when it is tried again. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  return state === SERIALIZATION_FAILURE || state === DEADLOCK_DETECTED;
}

const TOO_MANY_CONNECTIONS = '53300';

export function isTooManyConnections(error: unknown): boolean {
  return sqlState(error) === TOO_MANY_CONNECTIONS;
}

/** Classes that blame the server or the way to it, not the command. */
const ENVIRONMENT = new Set([
  '08', // connection exception
  '53', // insufficient resources: disk, memory, connections
  '57', // operator intervention: a cancel, a shutdown
  '58', // system error
  'F0', // configuration file error
  'XX', // internal error, data corrupted among them
]);
/** Single codes that do so, too. */
const ENVIRONMENT_CODES = new Set([
  READ_ONLY_TRANSACTION,
  '28000', // invalid authorization
  '28P01', // invalid password
  '3D000', // no such database
  '42501', // insufficient privilege
  '42P01', // no such table: the store was dropped, or is not there yet
  '42703', // no such column
  '42883', // no such function
  LOCK_NOT_AVAILABLE,
  '25P03', // idle in transaction for too long
  '25P04', // a transaction that lasted too long
]);

/** Whether every command would fail now, whatever it says. */
export function isEnvironment(error: unknown): boolean {
  const state = sqlState(error);
  if (state === undefined) return error instanceof ConnectionLost;
  return ENVIRONMENT.has(state.slice(0, 2)) || ENVIRONMENT_CODES.has(state) || isTransient(error);
}

/** Whether the connection is to be given up: it is broken, or leads to a server that does not take writes. */
export function isOfConnection(error: unknown): boolean {
  return isUnknownOutcome(error) || sqlState(error) === READ_ONLY_TRANSACTION;
}

/**
 * Whether a transaction that was sent whole, COMMIT included, and failed so may have been committed. An error of the
 * server comes before the commit, unless it ends the connection: a session that waits for a synchronous standby is
 * ended after it.
 */
export function isUnknownOutcome(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('57P') || state.startsWith('08'));
}

/** PostgreSQL warns so when the wait for a synchronous standby was broken off: committed here, perhaps nowhere else. */
export function isReplicationWarning(notice: { routine?: string | undefined }): boolean {
  return notice.routine === 'SyncRepWaitForLSN';
}

/** What is said of a commit whose outcome is unknown. */
export const COMMIT_FAILED = 'The connection to the store broke off while it committed';
