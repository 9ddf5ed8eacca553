import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import type pg from 'pg';
import { AppError } from '../../../errors.ts';
import { database as limits } from '../../../limits.ts';
import type { Log } from '../../../runtime.ts';
import { outcomeUnknown, unavailable } from '../../write-outcomes.ts';
import {
  COMMIT_FAILED,
  isEnvironment,
  isOfConnection,
  isReplicationWarning,
  isTransient,
  isUnknownOutcome,
  ofStatement,
  reasonLog,
  sqlState,
} from './failure.ts';
import { createPrimary, type DatabaseOptions, type TimedQuery } from './primary.ts';
import { BEGIN, BEGIN_WITH_SETTINGS } from './session.ts';

/**
 * A statement, and the name under which each connection prepares it once.
 * `isUrgent`: it gets the next free connection, before those that wait for one.
 */
export type Statement = { name: string; text: string; isUrgent?: boolean };

/**
 * A statement from its text. `${}` inserts text; values are `$1`, `$2`, … The name is derived from the text, so that no
 * other text of any version has it.
 */
export function statement(
  parts: TemplateStringsArray,
  ...fragments: readonly (string | number | bigint)[]
): Statement {
  const text = String.raw({ raw: parts }, ...fragments);
  return { name: hash('sha256', text, 'base64url').slice(0, 22), text };
}

/** For short statements by which a replica shows that it works: it must do so while many others wait. */
export function urgent(of: Statement): Statement {
  return { ...of, isUrgent: true };
}

/** PostgreSQL rejects text with a NUL, so no id contains one: such an id becomes NULL, which equals nothing. */
export function pathId(text: string): string | null {
  return text.includes('\0') ? null : text;
}

export type Row = Record<string, unknown>;

export type Bound = { statement: Statement; values: readonly unknown[] };

export type Query = (statement: Statement, values?: readonly unknown[]) => Promise<Row[]>;

export type Database = ReturnType<typeof openDatabase>;

/**
 * Runs statements on the database server. Has deadlines of its own, since the server's do not cover COMMIT. Failures of
 * the server or the network reject with AppError 50302 when nothing was done, and 50301 when that is unknown; errors of
 * the command itself are passed on.
 */
export function openDatabase(options: DatabaseOptions) {
  const { use, url, close } = createPrimary(options);
  const translated = translation(options.log);
  const silence = watchSilence();
  const toQuery = ({ statement, values }: Bound): TimedQuery => ({
    ...(options.pooled ? {} : { name: statement.name }),
    text: statement.text,
    values: [...values],
    query_timeout: limits.answerMs,
  });
  const begin = { text: options.pooled ? BEGIN_WITH_SETTINGS : BEGIN, query_timeout: limits.answerMs };

  const queryOn =
    (client: pg.PoolClient): Query =>
    async (statement, values = []) =>
      (await send(client, toQuery({ statement, values }))).rows;

  function run<T>(work: Work<T>, { mayBegin = () => true, commits = false, isUrgent }: Way = {}): Promise<T> {
    const attempt = async (client: pg.PoolClient) => {
      if (silence.isLong() && !commits) await silence.end(client);
      if (!mayBegin()) throw unavailable(TOO_LATE);
      return silence.hear(() => work(client));
    };
    return translated(() => again(() => use(attempt, isUrgent)));
  }

  return {
    /** One read-only statement, retried once if the connection breaks. */
    read: (statement: Statement, values?: readonly unknown[]): Promise<Row[]> =>
      run((client) => queryOn(client)(statement, values), { isUrgent: statement.isUrgent }),
    /**
     * Statements as one transaction, in one round trip. Resolves with the rows of each.
     * @param mayBegin called once a connection is available; if it returns false, nothing is sent: AppError 50302
     */
    write(statements: readonly Bound[], mayBegin?: () => boolean): Promise<Row[][]> {
      const queries = statements.map(toQuery);
      const work = async (client: pg.PoolClient) => {
        const all = silence.isLong() ? [...queries, COMMIT_ANYTHING] : queries;
        // A single statement is its own transaction.
        const sent = all.length === 1 && !options.pooled ? all : [begin, ...all, COMMIT];
        const rows = await committed(client, () => sendAll(client, sent));
        return rows.slice(0, queries.length);
      };
      const isUrgent = statements.some(({ statement }) => statement.isUrgent);
      return run(work, { mayBegin, commits: true, isUrgent });
    },
    /** A transaction whose statements depend on each other. `work` runs again after a conflict. */
    transaction: <T>(work: (query: Query) => Promise<T>, mayBegin?: () => boolean) =>
      run((client) => interactive(client, begin, () => work(queryOn(client))), { mayBegin }),
    /** The URL of the server that accepts writes. */
    primaryUrl: url,
    pooled: options.pooled,
    /** Waits for running work. May be called twice. */
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Work<T> = (client: pg.PoolClient) => Promise<T>;

/** How work runs. */
type Way = {
  mayBegin?: (() => boolean) | undefined;
  /** Whether it ends a silence by itself. */
  commits?: boolean;
  isUrgent?: boolean | undefined;
};

/**
 * After a silence of the server, perhaps because this process or a proxy stood still, another server may have become the
 * primary: this one would not know, and answer reads. What it commits proves that it is the primary, so until it has
 * answered again, each write commits something, and everything else waits until something is committed.
 */
function watchSilence() {
  /** When the latest work began that the server has answered. */
  let heardAt = performance.now();
  /** One for all: a session that waits for a standby stays on the server when its connection is closed. */
  let proof: Promise<unknown> | undefined;

  return {
    isLong: () => performance.now() - heardAt > limits.trustedMs,
    async hear<T>(work: () => Promise<T>): Promise<T> {
      const begunAt = performance.now();
      const result = await work();
      heardAt = Math.max(heardAt, begunAt);
      return result;
    },
    /** @throws AppError 50302 when the server does not commit in time */
    async end(client: pg.PoolClient): Promise<void> {
      proof ??= committed(client, () => send(client, COMMIT_ANYTHING)).finally(() => {
        proof = undefined;
      });
      await proof.catch((error: unknown) => {
        throw unavailable(error instanceof AppError ? error.cause : error);
      });
    },
  };
}

/** Nobody reads the message. */
const COMMIT_ANYTHING: TimedQuery = {
  text: "SELECT pg_logical_emit_message(true, 'plant-store', '')",
  query_timeout: limits.answerMs,
};

const TOO_LATE = new Error('Nobody is waiting for the transaction any more.');

const COMMIT: TimedQuery = { text: 'COMMIT', query_timeout: limits.answerMs };
const ROLLBACK: TimedQuery = { text: 'ROLLBACK', query_timeout: limits.answerMs };

function send(client: pg.PoolClient, query: TimedQuery): Promise<pg.QueryResult> {
  return client.query(query).catch((error: unknown) => {
    throw ofStatement(error);
  });
}

/** Resolves with the rows of each, without BEGIN and COMMIT. */
async function sendAll(client: pg.PoolClient, queries: readonly TimedQuery[]): Promise<Row[][]> {
  // After an error the server skips the rest, and COMMIT rolls back.
  const sendEach = () => queries.map((query) => send(client, query));
  const results = await Promise.allSettled(inOneWrite(client, sendEach));
  const [begun] = results;
  // Without BEGIN each of the others was its own transaction.
  if (queries.length > 1 && begun?.status === 'rejected') throw outcomeUnknown(COMMIT_FAILED, begun.reason);
  const rows = results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value.rows;
  });
  return queries.length === 1 ? rows : rows.slice(1, -1);
}

/** Wakes the server once for all statements, not once for each. */
function inOneWrite<T>(client: pg.PoolClient, send: () => T): T {
  // The library's types omit the connection. `pipeline` would write each statement at once, and every start of the
  // service sends such a transaction.
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

async function interactive<T>(client: pg.PoolClient, begin: TimedQuery, work: () => Promise<T>): Promise<T> {
  try {
    await send(client, begin);
    const result = await work();
    await committed(client, () => send(client, COMMIT));
    return result;
  } catch (error) {
    if (error instanceof AppError && error.code === 50301) throw error;
    if (!isOfConnection(error)) await send(client, ROLLBACK);
    throw error;
  }
}

/** Distinguishes a transaction with an unknown outcome from one that was not committed. */
async function committed<T>(client: pg.PoolClient, send: () => Promise<T>): Promise<T> {
  let warning: unknown;
  const listen = (notice: { routine?: string | undefined }) => {
    if (isReplicationWarning(notice)) warning = notice;
  };
  client.on('notice', listen);
  try {
    const result = await send();
    if (warning) throw warning;
    return result;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw error === warning || isUnknownOutcome(error) ? outcomeUnknown(COMMIT_FAILED, error) : error;
  } finally {
    client.off('notice', listen);
  }
}

/**
 * Retries after conflicts and, once, if the connection broke before COMMIT was sent or the server takes no writes. What
 * may have been committed is already an AppError here.
 */
async function again<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof AppError) throw error;
      const isToBeRepeated = isTransient(error)
        ? tries < limits.retries
        : isOfConnection(error) && tries === 0;
      if (!isToBeRepeated) throw error;
    }
  }
}

/** Translates failures of the server, and logs the reason. */
function translation(log: Log) {
  const tell = reasonLog(log, 'the database refused a statement');
  return async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      if (error instanceof AppError || !isEnvironment(error)) throw error;
      // Failing connections are logged elsewhere.
      if (sqlState(error) !== undefined) tell(error);
      throw unavailable(error);
    }
  };
}
