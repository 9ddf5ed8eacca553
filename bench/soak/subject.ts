import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { storePath } from '../../src/config/config.ts';
import { PROGRAM } from '../../testkit/processes/executable.ts';
import { cpuSeconds, residentBytes } from '../measure/proc.ts';
import { temporaryFolder } from '../servers/cleanup.ts';
import { runSql, startDatabase } from '../servers/postgres.ts';
import type { Server } from '../servers/server.ts';
import { loadingFirst, startService } from '../servers/service.ts';
import { loopbackAllowed } from '../servers/webhooks.ts';

/** The service under load, with what it must not let grow. Both run on the servers' core. */
export type Subject = {
  service: Server;
  /** CPU seconds of the service and its database. */
  cpuSeconds(): number;
  /** By name: sizes in MiB, and counts. */
  sizes(): Promise<Record<string, number>>;
  /** Backs the store up and removes the backup. Rejects when it fails. */
  backUp(): Promise<void>;
  stop(): Promise<void>;
};

const MIB = 1024 * 1024;

export function startSubject(store: 'sqlite' | 'postgres'): Promise<Subject> {
  const { path: folder } = temporaryFolder();
  return store === 'sqlite' ? onSqlite(folder) : onPostgres(folder);
}

async function onSqlite(dataDir: string): Promise<Subject> {
  const service = await startService({ dataDir, env: serviceEnv() });
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return {
    service,
    cpuSeconds: () => cpuSeconds(service.pid),
    sizes: async () => ({
      ...sizesOf(service),
      'database MiB': sizeOf(storePath(dataDir)) / MIB,
      'log MiB': sizeOf(`${storePath(dataDir)}-wal`) / MIB,
    }),
    async backUp() {
      const file = join(dataDir, 'backup.db');
      const env = { ...process.env, DATA_DIR: dataDir };
      const [code] = await once(spawn(PROGRAM, ['backup', file], { env, stdio: 'ignore' }), 'exit');
      if (code !== 0) throw new Error(`The backup ended with ${code}`);
      rmSync(file);
    },
    async stop() {
      await service.stop();
    },
  };
}

/** Its backups are those of PostgreSQL; none is made here. */
async function onPostgres(dataDir: string): Promise<Subject> {
  const database = await startDatabase({});
  const url = await database.create('soak');
  const service = await startService({ dataDir, env: { ...serviceEnv(), DATABASE_URL: url } });
  return {
    service,
    cpuSeconds: () => cpuSeconds(service.pid) + database.cpuSeconds(),
    async sizes() {
      const [row] = await runSql(
        url,
        `SELECT sum(pg_table_size(c.oid)) AS tables, sum(pg_indexes_size(c.oid)) AS indexes, (
           SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
         ) AS connections, (
           SELECT sum(size) FROM pg_ls_waldir()
         ) AS log
         FROM pg_class c
         WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`,
      );
      return {
        ...sizesOf(service),
        'tables MiB': Number(row?.tables) / MIB,
        'indexes MiB': Number(row?.indexes) / MIB,
        'log MiB': Number(row?.log) / MIB,
        connections: Number(row?.connections),
      };
    },
    backUp: async () => {},
    async stop() {
      await service.stop();
      await database.stop();
    },
  };
}

const serviceEnv = () => ({ ...loopbackAllowed, ...loadingFirst('brief-retention') });

function sizesOf({ pid }: Server): Record<string, number> {
  return {
    'RSS MiB': residentBytes(pid) / MIB,
    'file descriptors': readdirSync(`/proc/${pid}/fd`).length,
  };
}
