import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { DatabaseUrl, Host } from '../../../config/database-url.ts';
import { AppError, retryLater } from '../../../errors.ts';
import { database as limits } from '../../../limits.ts';
import type { Log } from '../../../runtime.ts';
import { unavailable } from '../../failures.ts';
import { isOfConnection, isTooManyConnections } from './failure.ts';
import { SESSION_OPTIONS } from './session.ts';
import { createSlots } from './slots.ts';

export type DatabaseOptions = {
  url: DatabaseUrl;
  /** Connections that are open at a time, at most. */
  connections: number;
  /**
   * Whether a pooler stands between, which gives each transaction another session of the server: then nothing is set
   * for a session, statements are not prepared, and nobody listens.
   */
  pooled: boolean;
  log: Log;
};

/** The type that the library declares does not know of the time after which it gives up an answer. */
export type TimedQuery = pg.QueryConfig & { query_timeout: number };

/** The server that accepts writes, among those that the URL names, and the connections to it. */
export type Primary = {
  /**
   * Runs work with a connection that is nobody else's meanwhile. Rejects with AppError 50302 when there is none, and with
   * 50300 when all are in use for too long.
   */
  use<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  /** The URL of the server that accepts writes: for a connection beside these. */
  url(): Promise<string>;
  /** Waits for what is under way. May be called twice. */
  close(): Promise<void>;
};

type Server = { host: Host; pool: pg.Pool };

export function createPrimary(options: DatabaseOptions): Primary {
  const { url, connections, log } = options;
  const slots = createSlots(connections, limits.waitMs);
  let hosts: readonly Host[] = url.hosts;
  let server: Server | undefined;
  let finding: Promise<Server> | undefined;
  let closing: Promise<void> | undefined;
  const left = new Set<Promise<void>>();

  async function use<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const giveBack = await slots.take().catch(refuseCrowd);
    try {
      const { client, from } = await connect();
      return await holding(client, from, work);
    } finally {
      giveBack();
    }
  }

  /** Gives the connection back when the work is done; one that broke off is not used again, nor are its siblings. */
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
      // A server that restarted, or is a standby now, has broken off the others as well.
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
        // The server is well but admits no more connections: those that there are become free.
        const isCrowded = isTooManyConnections(error) && at === server && at.pool.totalCount > 0;
        if (isCrowded && performance.now() < until) continue;
        leave(at, error);
        break;
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

  /** Asks one host after the other, beginning with the one that was the primary. */
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
        errors.push(error);
        await pool.end();
        // The client leaves the connection open when it cannot log in by a fault of its own: no password, say.
        for (const socket of sockets) socket.destroy();
      }
    }
    throw unavailable(errors.length === 1 ? errors[0] : noHost(errors));
  }

  /** The next one to connect looks for the primary anew. Connections that are in use end when they are given back. */
  function leave(abandoned: Server, error?: unknown): void {
    if (server !== abandoned) return;
    server = undefined;
    if (error) log.warn({ err: error }, 'the connection to the database failed');
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
    url: async () => url.urlFor((server ?? (await find())).host),
    close: () => (closing ??= close()),
  };
}

function openPool(
  host: Host,
  sockets: Set<Socket>,
  { url, connections, pooled, log }: DatabaseOptions,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: pooled ? url.urlFor(host) : withSession(url.urlFor(host)),
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
  // Of a connection that nobody uses: the pool has dropped it already.
  pool.on('error', (error) =>
    log.warn({ err: withoutClient(error) }, 'a connection to the database broke off'),
  );
  // Of one in use: its statement fails as well.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** The log shows the message alone. */
function noHost(errors: readonly unknown[]): AggregateError {
  const reasons = errors.map((error) => (error instanceof Error ? error.message : String(error)));
  return new AggregateError(errors, `No host accepts writes (${reasons.join('; ')}).`);
}

function tracked(socket: Socket, sockets: Set<Socket>): Socket {
  sockets.add(socket);
  return socket.once('close', () => sockets.delete(socket));
}

/** The pool hangs the whole client on an error, with all that a log should not have. */
function withoutClient(error: Error & { client?: unknown }): Error {
  delete error.client;
  return error;
}

/** What the URL sets for a session stays, and would else take the place of all that the service sets. */
function withSession(connectionString: string): string {
  const url = new URL(connectionString);
  const given = url.searchParams.get('options');
  url.searchParams.set('options', given === null ? SESSION_OPTIONS : `${given} ${SESSION_OPTIONS}`);
  return url.href;
}

function refuse(error: unknown): never {
  throw unavailable(error);
}

/** The database may be well: more is asked of it than it answers in time. */
function refuseCrowd(cause: unknown): never {
  const message = 'Too many requests wait for the store; nothing was done. Retry in a moment.';
  throw retryLater(50300, message, { cause });
}

const IS_READ_ONLY: TimedQuery = { text: 'SHOW transaction_read_only', query_timeout: limits.connectMs };

async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(IS_READ_ONLY);
  if (rows[0]?.transaction_read_only !== 'off') throw new Error('The database server accepts no writes.');
}

const INT8 = 20;

/** Times and counts are far below 2^53; what is not (ids of plants) is asked for as text. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}
