import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { PROGRAM } from '../../testkit/processes/executable.ts';
import { startPostgres } from '../../testkit/stores/postgres.ts';
import { type Load, sendLoad } from '../load/load.ts';
import type { Sample } from '../measure/compare.ts';
import { watchCpu } from '../measure/usage.ts';
import { atEnd } from './cleanup.ts';
import { type Server, startServer } from './server.ts';
import { TOKEN } from './service.ts';
import { SERVER_CORE } from './tools.ts';

/** A PostgreSQL server that flushes each commit to disk, on the servers' core. */
export type BenchDatabase = {
  /** Creates an empty database and returns its URL. */
  create(name: string): Promise<string>;
  /** CPU seconds that all its processes have used. */
  cpuSeconds(): number;
  /** Moves all its processes to a core. */
  moveTo(core: number): void;
  stop(): Promise<void>;
};

/** Segments of the write-ahead log, of 16 MB. */
const RECYCLED = 150;

/** Statements are counted only on demand. */
const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  shared_preload_libraries: 'pg_stat_statements',
};

/** So that no checkpoint falls into a round. */
const WITHOUT_CHECKPOINTS = {
  min_wal_size: `${RECYCLED * 16}MB`,
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
};

/** @param settings in addition to durable ones and the server's defaults */
export async function startDatabase(
  settings: Readonly<Record<string, string>> = WITHOUT_CHECKPOINTS,
): Promise<BenchDatabase> {
  const server = await startPostgres({ ...DURABLE, ...settings });
  const [row] = await runSql(server.url, `SELECT current_setting('data_directory') AS folder`);
  const folder = String(row?.folder);
  const pid = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const forget = atEnd(() => {
    // It ends without a checkpoint.
    process.kill(pid, 'SIGQUIT');
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  });
  const moveTo = (core: number) => {
    for (const each of [pid, ...childrenOf(pid)]) spawnSync('taskset', ['-acp', `${core}`, `${each}`]);
  };
  moveTo(SERVER_CORE);
  await track(server.url, 'none');
  return {
    async create(name) {
      await runSql(server.url, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
      const url = new URL(server.url);
      url.pathname = name;
      await runSql(url.href, 'CREATE EXTENSION pg_stat_statements');
      return url.href;
    },
    cpuSeconds: () => familyCpuSeconds(pid),
    moveTo,
    async stop() {
      forget();
      await server.stop();
    },
  };
}

/**
 * Fills segments of the write-ahead log and has a checkpoint recycle them, as on a server that has run for a while.
 * Otherwise a commit creates a segment about once a second, which takes 35 ms.
 */
export async function recycleSegments(url: string): Promise<void> {
  await runSql(
    url,
    `SELECT count(pg_switch_wal())
     FROM generate_series(1, ${RECYCLED})
     WHERE pg_logical_emit_message(false, 'bench', '') IS NOT NULL`,
  );
  await runSql(url, 'CHECKPOINT');
  const [row] = await runSql(
    url,
    `SELECT count(*)::int AS free FROM pg_ls_waldir() WHERE name > pg_walfile_name(pg_current_wal_lsn())`,
  );
  if (Number(row?.free) < RECYCLED / 2) throw new Error(`Only ${row?.free} segments were recycled`);
}

/** Runs one statement. */
export async function runSql(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

const FASTIFY_PG = fileURLToPath(new URL('../reference/fastify-pg.ts', import.meta.url));

/** Starts `reference/fastify-pg.ts` with a pool of this many connections. */
export function startFastifyPg(
  url: string,
  connections: number,
  env: Record<string, string> = {},
): Promise<Server> {
  return startServer({
    command: [process.execPath, FASTIFY_PG],
    env: { DATABASE_URL: url, DATABASE_CONNECTIONS: String(connections), TOKEN, ...env },
    core: SERVER_CORE,
  });
}

/**
 * Creates a user on the command line while the service runs, and returns a token with every scope.
 * @param program the file of another version
 */
export function createUserIn(url: string, name: string, program = PROGRAM): string {
  const run = (...args: string[]) =>
    execFileSync(process.execPath, [program, ...args], {
      env: { ...process.env, DATABASE_URL: url },
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
    });
  run('user', 'create', name);
  return run('token', 'create', '--user', name).trim();
}

/** The cost of answers for the database. */
export type Cost = {
  /** Microseconds of CPU time per answer. */
  cpuPerAnswer: number;
  /** Share of a core. */
  busy: number;
  /** Bytes of write-ahead log per answer. */
  walPerAnswer: number;
  /** Transactions that wrote. */
  transactionsPerSecond: number;
  transactionsPerAnswer: number;
};

export type PostgresSample = Sample & { database: Cost };

/** Servers, each with its concurrent load. */
export type Party = { name: string; url: string; servers: { server: Server; load: Load }[] };

/** Like `sample` of `compare.ts`; the database's processes do not count as others'. Latencies are of the first load. */
export async function sampleOn(
  database: BenchDatabase,
  { name, url, servers }: Party,
  seconds: number,
): Promise<PostgresSample> {
  const before = await read(url);
  const used = database.cpuSeconds();
  const stop = watchCpu(servers.map(({ server }) => server.pid));
  const results = await Promise.all(servers.map(({ server, load }) => sendLoad(server.url, load, seconds)));
  const usage = stop();
  const databaseUsed = database.cpuSeconds() - used;
  const after = await read(url);
  const total = (figure: (result: (typeof results)[number]) => number) =>
    results.reduce((sum, result) => sum + figure(result), 0);
  const requests = total((result) => result.requests);
  if (total((result) => result.failures) > 0) throw new Error(`${name}: some of ${requests} requests failed`);
  const serversUsed = usage.watched.reduce((sum, one) => sum + one, 0);
  const [first] = results;
  return {
    requests,
    seconds: usage.seconds,
    p50: first?.p50 ?? Number.NaN,
    p99: first?.p99 ?? Number.NaN,
    failures: 0,
    cpuSeconds: total((result) => result.cpuSeconds),
    rate: total((result) => result.requests / result.seconds),
    cpuPerAnswer: (serversUsed / requests) * 1e6,
    serverBusy: serversUsed / usage.seconds,
    generatorBusy: total((result) => result.cpuSeconds) / results.length / usage.seconds,
    othersBusy: Math.max(0, usage.others - databaseUsed) / usage.seconds,
    database: {
      cpuPerAnswer: (databaseUsed / requests) * 1e6,
      busy: databaseUsed / usage.seconds,
      walPerAnswer: (after.wal - before.wal) / requests,
      transactionsPerSecond: (after.transaction - before.transaction) / usage.seconds,
      transactionsPerAnswer: (after.transaction - before.transaction) / requests,
    },
  };
}

/** Rarer statements are the benchmark's own and those of an idle service. */
const FREQUENT = 10;

/** The database's work in a second of the load: notes for the report. */
export async function describeWork(database: BenchDatabase, party: Party): Promise<string[]> {
  let sampled: PostgresSample | undefined;
  const { statements, connections } = await countStatements(party.url, async () => {
    sampled = await sampleOn(database, party, 1);
  });
  if (!sampled) return [];
  const { requests, cpuPerAnswer, database: cost } = sampled;
  const calls = statements.reduce((sum, statement) => sum + Number(statement.calls), 0);
  return [
    `${party.name}: for an answer ${cpuPerAnswer.toFixed(0)} µs of CPU time by the server and ` +
      `${cost.cpuPerAnswer.toFixed(0)} µs by the database, ${cost.walPerAnswer.toFixed(0)} bytes of write-ahead log, ` +
      `${(calls / requests).toFixed(3)} statements, ${cost.transactionsPerAnswer.toFixed(3)} transactions that write ` +
      `(${cost.transactionsPerSecond.toFixed(0)} a second)`,
    `${party.name}: connections of all to the database: ${connections.map(({ name, count }) => `${count} ${name || 'without a name'}`).join(', ')}`,
    ...statements
      .filter(({ calls }) => Number(calls) >= FREQUENT)
      .map(
        ({ calls, microseconds, query }) =>
          `${party.name}: ${calls} times ${microseconds} µs, ${brief(query)}`,
      ),
  ];
}

function brief(query: unknown): string {
  return String(query).replaceAll(/\s+/g, ' ').slice(0, 60);
}

/** How many statements of a database began during some work, and which connections are open. */
async function countStatements(url: string, work: () => Promise<unknown>) {
  await runSql(url, 'SELECT pg_stat_statements_reset()');
  await track(url, 'top');
  await work();
  await track(url, 'none');
  const statements = await runSql(
    url,
    `SELECT query, calls::int, round((total_exec_time / calls * 1000)::numeric)::int AS microseconds
     FROM pg_stat_statements s
     JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
     ORDER BY calls DESC`,
  );
  const connections = await runSql(
    url,
    `SELECT application_name AS name, count(*)::int AS count
     FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
     GROUP BY 1
     ORDER BY 1`,
  );
  return { statements, connections };
}

/** Turns the counting of statements on or off. Permanent counting would slow the side with more statements. */
async function track(url: string, what: 'top' | 'none'): Promise<void> {
  await runSql(url, `ALTER SYSTEM SET pg_stat_statements.track = '${what}'`);
  await runSql(url, 'SELECT pg_reload_conf(), pg_sleep(0.2)');
}

/** The end of the write-ahead log, and the number of the next transaction. */
async function read(url: string): Promise<{ wal: number; transaction: number }> {
  const [row] = await runSql(
    url,
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal, pg_snapshot_xmax(pg_current_snapshot()) AS transaction`,
  );
  return { wal: Number(row?.wal), transaction: Number(row?.transaction) };
}

const TICKS = 100;

/** Of a process and its children, including ended ones: PostgreSQL uses a process per connection. */
function familyCpuSeconds(pid: number): number {
  const own = statOf(pid);
  const children = childrenOf(pid).map(statOf);
  const ticks = [own.used, own.usedByEnded, ...children.map(({ used }) => used)];
  return ticks.reduce((sum, each) => sum + each, 0) / TICKS;
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
}

function statOf(pid: number) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const at = (index: number) => Number(fields[index] ?? 0);
    return { used: at(11) + at(12), usedByEnded: at(13) + at(14) };
  } catch {
    // It ended meanwhile.
    return { used: 0, usedByEnded: 0 };
  }
}
