import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { database as limits } from '../../../limits.ts';
import { throttle } from '../../../runtime.ts';
import { type AppliedMigration, type Migration, readMigrations, refuseOther } from '../../migrations.ts';
import { type Database, statement } from './database.ts';
import { isTransient, LOCK_NOT_AVAILABLE, sqlState } from './failure.ts';
import { buildIndexes } from './index-builds.ts';
import { LOCKS } from './locks.ts';
import { withOwnClient } from './primary.ts';
import { BEGIN_WITHOUT_TIMEOUTS } from './session.ts';

const OLDEST_SERVER = 15;
export const SCHEMA_WAITS = 'the schema waits for another transaction, such as pg_dump or another migration';

export type MigrateOptions = {
  now: number;
  /** The number of partitions by owner for growing tables; only when the store is created. */
  partitions?: number | undefined;
  /** Whether a copy into the store follows, or resumes. */
  allowsCopy?: boolean;
  /** Called at first, and then once in a while, while the schema waits for another transaction. */
  onWait(): void;
  bounds?: typeof limits;
};

/**
 * Applies missing migrations in order, each in a transaction that one program at a time runs, and resolves with their
 * names.
 *
 * Replicas of the previous version keep working: a file's first line names the oldest program that understands the new
 * schema, and only older ones are refused. While another transaction, such as `pg_dump`, holds a table, statements of
 * replicas would queue behind the migration's lock request, so it gives up soon and retries later.
 * @throws Error when the server is too old, the store too new, or a copy into it is unfinished
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<string[]> {
  const known = readMigrations('postgres');
  return withOwnClient(database, 'migrate', async (client) => {
    await refuseServer(client);
    const names: string[] = [];
    for (;;) {
      const migration = nextOf(await appliedMigrations(client), known);
      if (!migration) break;
      const isMissing = async () => nextOf(await appliedMigrations(client), known) === migration;
      const { onWait, bounds = limits } = options;
      const builds = () => buildIndexes(database, client, migration.sql, { isMissing, onWait, bounds });
      await insist(builds, options);
      const applies = (lockMs: number) => applyNext(client, { migration, isMissing, lockMs }, options);
      if (await insist(applies, options)) names.push(migration.name);
    }
    await adoptServer(client);
    if (!options.allowsCopy) await refuseUnfinishedCopy(client);
    return names;
  });
}

const DIVISION = statement`SELECT to_regclass('plants') IS NOT NULL AS is_made,
    (SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('plants')) AS partitions`;

/** The number of partitions of the growing tables, 0 for none; undefined without a store. */
export async function divisionOf({ read }: Pick<Database, 'read'>): Promise<number | undefined> {
  const [row] = await read(DIVISION);
  return row?.is_made === true ? Number(row.partitions) : undefined;
}

async function refuseServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
       current_setting('server_encoding') AS encoding`,
  );
  const { version, number, encoding } = rows[0];
  if (number < OLDEST_SERVER * 10_000) {
    throw new Error(`PostgreSQL ${version} is too old; ${OLDEST_SERVER} or newer is required.`);
  }
  if (encoding !== 'UTF8') {
    throw new Error(
      `The database has the encoding ${encoding}; UTF8 is required: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
    );
  }
}

/** Retries without a limit while someone holds a lock that the work needs, possibly waiting for one of its locks. */
async function insist<T>(
  work: (lockMs: number) => Promise<T>,
  { onWait, bounds = limits }: MigrateOptions,
): Promise<T> {
  const isTold = throttle(bounds.migrationTellMs);
  for (let lockMs = bounds.migrationLockMs; ; ) {
    try {
      return await work(lockMs);
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE && !isTransient(error)) throw error;
    }
    const isLongest = 2 * lockMs > bounds.longestMigrationLockMs;
    if (isLongest && isTold()) onWait();
    await pause(Math.max(bounds.migrationPauseMs, bounds.migrationPauses * lockMs));
    lockMs = isLongest ? bounds.migrationLockMs : 2 * lockMs;
  }
}

type Next = { migration: Migration; isMissing(): Promise<boolean>; lockMs: number };

async function applyNext(
  client: pg.Client,
  { migration, isMissing, lockMs }: Next,
  options: MigrateOptions,
): Promise<boolean> {
  await client.query(BEGIN_WITHOUT_TIMEOUTS);
  try {
    await client.query(`SET LOCAL lock_timeout = ${lockMs}`);
    await client.query('SELECT pg_advisory_xact_lock($1, $2)', LOCKS.migration);
    await client.query(
      `CREATE TABLE IF NOT EXISTS migrations (
         version         integer PRIMARY KEY,
         name            text NOT NULL,
         checksum        text NOT NULL,
         compatible_from integer NOT NULL,
         applied_at      bigint NOT NULL
       )`,
    );
    const applies = await isMissing();
    if (applies) await apply(client, migration, options);
    await client.query('COMMIT');
    return applies;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function apply(client: pg.Client, migration: Migration, { now, partitions }: MigrateOptions) {
  const { version, name, sql, checksum } = migration;
  const tables: string[] = [];
  const partitioned = sql.replaceAll(
    /CREATE TABLE (\w+)([^;]*?)\/\* partitioned by (\w+) \*\//g,
    (whole, table: string, columns: string, column: string) => {
      if (partitions === undefined) return whole;
      tables.push(table);
      return `CREATE TABLE ${table}${columns}PARTITION BY HASH (${column})`;
    },
  );
  await lockAll(client, sql);
  await client.query(partitioned);
  for (const table of tables) await createPartitions(client, table, partitions ?? 0);
  const compatibleFrom = Number(/^-- compatible from: (\d+)\n/.exec(sql)?.[1] ?? version);
  await client.query(
    'INSERT INTO migrations (version, name, checksum, compatible_from, applied_at) VALUES ($1, $2, $3, $4, $5)',
    [version, name, checksum, compatibleFrom, now],
  );
}

/**
 * Takes the strongest locks of a migration at once: replicas of the previous version hold weaker ones, and a migration
 * that already has another would wait for them as they wait for it.
 */
async function lockAll(client: pg.Client, sql: string): Promise<void> {
  const namesIn = (pattern: RegExp) => [...sql.matchAll(pattern)].map(([, name]) => name);
  const { rows } = await client.query(
    `SELECT string_agg(DISTINCT oid::regclass::text, ', ') AS tables
     FROM pg_class
     WHERE oid IN (SELECT to_regclass(name) FROM unnest($1::text[]) AS t(name))
       OR oid IN (SELECT indrelid FROM pg_index WHERE indexrelid IN (SELECT to_regclass(name) FROM unnest($2::text[]) AS i(name)))`,
    [namesIn(/ALTER TABLE (\w+)/g), namesIn(/DROP INDEX (\w+)/g)],
  );
  const [{ tables }] = rows;
  if (tables !== null) await client.query(`LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
}

async function createPartitions(client: pg.Client, table: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await client.query(
      `CREATE TABLE ${table}_${n} PARTITION OF ${table} FOR VALUES WITH (MODULUS ${count}, REMAINDER ${n})`,
    );
  }
}

async function appliedMigrations(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows: tables } = await client.query(`SELECT to_regclass('migrations') AS found`);
  if (tables[0].found === null) return [];
  const { rows } = await client.query(
    'SELECT version, checksum, compatible_from AS "compatibleFrom" FROM migrations ORDER BY version',
  );
  return rows;
}

/** The next migration to apply; undefined if none is missing. */
function nextOf(applied: readonly AppliedMigration[], known: readonly Migration[]): Migration | undefined {
  refuseOther(applied, known);
  return known[applied.length];
}

/**
 * On another server (a restored dump, say) transaction numbers are lower than those in the feed, which now continues
 * from these, so that its readers miss nothing.
 */
async function adoptServer(client: pg.Client): Promise<void> {
  await client.query(BEGIN_WITHOUT_TIMEOUTS);
  await client.query('SELECT pg_advisory_xact_lock($1, $2)', LOCKS.migration);
  await client.query(
    `WITH newest AS (
       SELECT greatest((SELECT max(tx) FROM events), (SELECT max(tx) FROM removed_events), 0) AS tx
     ), changed AS (
       SELECT s.system_identifier AS server
       FROM pg_control_system() s
       JOIN meta ON meta.name = 'server' AND meta.value <> s.system_identifier
     ), removed_users AS (
       -- What began before their deletion ended with the other server.
       UPDATE users
       SET deleted_tx = '0'
       FROM changed
       WHERE deleted_tx IS NOT NULL
     ), removed_webhooks AS (
       UPDATE webhooks
       SET deleted_tx = '0'
       FROM changed
       WHERE deleted_tx IS NOT NULL
     ), offsets AS (
       UPDATE meta
       SET value = greatest(0, (SELECT tx FROM newest) + 1 - pg_current_xact_id()::text::bigint)
       FROM changed
       WHERE name = 'tx_offset'
     )
     UPDATE meta
     SET value = changed.server
     FROM changed
     WHERE name = 'server'`,
  );
  await client.query('COMMIT');
}

/** An unfinished copy is not a store yet, and writes of others would block the rest of the copy. */
async function refuseUnfinishedCopy(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`SELECT to_regclass('copy_progress') AS found`);
  if (rows[0].found === null) return;
  throw new Error(
    'A copy into this database is running, or was interrupted. In the latter case run plant-store copy again to resume it.',
  );
}
