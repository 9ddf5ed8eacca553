import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { DatabaseUrl, Host } from '../../../config/database-url.ts';
import { AppError, retryLater } from '../../../errors.ts';
import { database as limits } from '../../../limits.ts';
import type { Log } from '../../../runtime.ts';
import { unavailable } from '../../write-outcomes.ts';
import { isOfConnection, isRefusedLogin, READ_ONLY_TRANSACTION, reasonLog, sqlState } from './failure.ts';
import { LIFT_TIMEOUTS, PROBES, sessionUrl } from './session.ts';

export type DatabaseOptions = {
  url: DatabaseUrl;
  /** The most open connections. */
  connections: number;
  /**
   * Whether a pooler assigns a session per transaction: then there are no session settings, prepared statements or
   * listeners.
   */
  pooled: boolean;
  log: Log;
};

/** The library's types omit the timeout for a response. */
export type TimedQuery = pg.QueryConfig & { query_timeout: number };

type Server = { host: Host; pool: pg.Pool };

/** The server that accepts writes, among those in the URL, and the connections to it. */
export function createPrimary(options: DatabaseOptions) {
  const { url, connections, log } = options;
  const room = createRoom(connections);
  let hosts: readonly Host[] = url.hosts;
  let server: Server | undefined;
  let finding: Promise<Server> | undefined;
  let closing: Promise<void> | undefined;
  const left = new Set<Promise<void>>();
  const tell = reasonLog(log, 'the connection to the database failed');

  /**
   * Runs work with an exclusive connection.
   * @param isUrgent whether it gets one before those that wait
   * @throws AppError 50302 without a server, 50300 when all connections stay busy for too long
   */
  async function use<T>(work: (client: pg.PoolClient) => Promise<T>, isUrgent = false): Promise<T> {
    await room.enter(isUrgent).catch(refuseCrowd);
    try {
      const { client, from } = await connect();
      return await holding(client, from, work);
    } finally {
      room.leave();
    }
  }

  /** Releases the connection after the work; after a break, neither it nor the other connections are used again. */
  async function holding<T>(
    client: pg.PoolClient,
    from: Server,
    work: (client: pg.PoolClient) => Promise<T>,
  ) {
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      const isBroken = isOfConnection(error) || (error instanceof AppError && isOfConnection(error.cause));
      client.release(isBroken);
      // A server that restarted, or became a standby, has closed the others as well.
      if (isBroken) leave(from, error);
      throw error;
    }
  }

  async function connect(): Promise<{ client: pg.PoolClient; from: Server }> {
    const at = server ?? (await find());
    for (const until = performance.now() + limits.waitMs; ; await pause(limits.contestedMs)) {
      try {
        return { client: await at.pool.connect(), from: at };
      } catch (error) {
        // The server works but accepts no more connections: wait for one of the existing ones.
        const isServed = isRefusedLogin(error) && at === server && at.pool.totalCount > 0;
        if (!isServed || performance.now() >= until) {
          leave(at, error);
          break;
        }
        tell(error);
      }
    }
    const other = await find();
    return { client: await other.pool.connect().catch(refuse), from: other };
  }

  function find(): Promise<Server> {
    if (closing) return Promise.reject(unavailable(new Error('The store is closed.')));
    finding ??= findPrimary().finally(() => {
      finding = undefined;
    });
    return finding;
  }

  /** Tries the hosts in turn, starting with the last primary. */
  async function findPrimary(): Promise<Server> {
    if (server) return server;
    const errors: unknown[] = [];
    for (const host of hosts) {
      const sockets = new Set<Socket>();
      const pool = openPool(host, sockets, options);
      try {
        (await pool.connect()).release();
        server = { host, pool };
        hosts = [host, ...hosts.filter((other) => other !== host)];
        return server;
      } catch (error) {
        // In the order of the URL.
        errors[url.hosts.indexOf(host)] = error;
        await pool.end();
        // After a login failure on its own side, such as a missing password, the client leaves the connection open.
        for (const socket of sockets) socket.destroy();
      }
    }
    throw unavailable(errors.length === 1 ? errors[0] : noHost(errors));
  }

  /** The next connection searches for the primary again. Connections in use close when they are released. */
  function leave(abandoned: Server, error?: unknown): void {
    if (server !== abandoned) return;
    server = undefined;
    if (error) tell(error);
    const ended = abandoned.pool.end().finally(() => left.delete(ended));
    left.add(ended);
  }

  async function close(): Promise<void> {
    await finding?.catch(() => {});
    if (server) leave(server);
    await Promise.race([Promise.all(left), pause(limits.closeMs, undefined, { ref: false })]);
  }

  return {
    use,
    /** The URL of the server that accepts writes, for an additional connection. */
    url: async () => url.urlFor((server ?? (await find())).host),
    /** Waits for running work. May be called twice. */
    close: () => (closing ??= close()),
  };
}

/** Limits the connections in use. Those who wait for one get it in order, the urgent first, within `waitMs`. */
function createRoom(connections: number) {
  const waiting: (() => void)[] = [];
  let free = connections;
  return {
    enter(isUrgent: boolean): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (free > 0) {
        free--;
        resolve();
        return promise;
      }
      const late = setTimeout(() => {
        waiting.splice(waiting.indexOf(take), 1);
        reject(new Error(`No connection to the database became free within ${limits.waitMs} ms.`));
      }, limits.waitMs);
      const take = () => {
        clearTimeout(late);
        resolve();
      };
      if (isUrgent) waiting.unshift(take);
      else waiting.push(take);
      return promise;
    },
    /** Call it once for each time that one entered. */
    leave(): void {
      const next = waiting.shift();
      if (next) next();
      else free++;
    },
  };
}

function openPool(
  host: Host,
  sockets: Set<Socket>,
  { url, connections, pooled, log }: DatabaseOptions,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: pooled ? url.urlFor(host) : sessionUrl(url.urlFor(host)),
    max: connections,
    connectionTimeoutMillis: limits.connectMs,
    idleTimeoutMillis: limits.idleMs,
    keepAlive: true,
    pipeline: true,
    types: { getTypeParser },
    stream: () => tracked(new Socket(), sockets),
    onConnect: refuseStandby,
    fallback_application_name: 'plant-store',
  });
  // For an idle connection: the pool has dropped it already.
  pool.on('error', (error) =>
    log.warn({ err: withoutClient(error) }, 'a connection to the database was lost'),
  );
  // For one in use: its statement fails as well.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * Runs work on a connection of its own, because it may take longer than any statement of the service. In a pooled
 * session, which other clients get later, the role's timeouts apply outside of `BEGIN_WITHOUT_TIMEOUTS`.
 * @throws AppError 50302 when the connection is lost
 */
export async function withOwnClient<T>(
  { primaryUrl, pooled }: { primaryUrl(): Promise<string>; pooled: boolean },
  name: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const url = await primaryUrl();
  const client = new pg.Client({
    connectionString: pooled ? url : sessionUrl(url, PROBES),
    connectionTimeoutMillis: limits.connectMs,
    application_name: `plant-store ${name}`,
    // Nothing is sent during a long statement, and a NAT drops connections that are silent for minutes.
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  });
  const losses: Error[] = [];
  client.on('error', (error) => losses.push(error));
  await client.connect();
  try {
    if (!pooled) await client.query(LIFT_TIMEOUTS);
    return await work(client);
  } catch (error) {
    // The error of a statement that a loss ends has no code.
    throw losses.length > 0 && sqlState(error) === undefined ? unavailable(losses[0]) : error;
  } finally {
    await client.end();
  }
}

/** The log shows only the message. */
function noHost(errors: readonly unknown[]): AggregateError {
  const reasons = errors.map((error) => (error instanceof Error ? error.message : String(error)));
  return new AggregateError(errors, `No host accepts writes (${reasons.join('; ')}).`);
}

function tracked(socket: Socket, sockets: Set<Socket>): Socket {
  sockets.add(socket);
  return socket.once('close', () => sockets.delete(socket));
}

/** The pool attaches the whole client to an error, including data that must not be logged. */
function withoutClient(error: Error & { client?: unknown }): Error {
  delete error.client;
  return error;
}

function refuse(error: unknown): never {
  throw unavailable(error);
}

/** The database may be healthy, but is asked for more than it can answer in time. */
function refuseCrowd(cause: unknown): never {
  const message = 'Too many requests are waiting for the store; nothing was done. Retry in a moment.';
  throw retryLater(50300, message, { cause });
}

const IS_READ_ONLY: TimedQuery = { text: 'SHOW transaction_read_only', query_timeout: limits.connectMs };

async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(IS_READ_ONLY);
  if (rows[0]?.transaction_read_only !== 'off') {
    throw Object.assign(new Error('The database server accepts no writes.'), {
      code: READ_ONLY_TRANSACTION,
    });
  }
}

const INT8 = 20;

/** Times and counts are far below 2^53; larger values (ids of plants) are selected as text. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}
