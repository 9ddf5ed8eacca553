import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { database as limits } from '../../../limits.ts';
import { throttle } from '../../../runtime.ts';
import {
  type AppliedMigration,
  type Migration,
  newerStore,
  readMigrations,
  refuseChanged,
} from '../../migrations.ts';
import type { Database } from './database.ts';
import { LOCK_NOT_AVAILABLE, sqlState } from './failure.ts';
import { buildIndexes } from './index-builds.ts';
import { LOCKS } from './locks.ts';
import { withOwnClient } from './own-client.ts';
import { statement } from './statement.ts';

const FOLDER = new URL('../migrations/', import.meta.url);
const OLDEST_SERVER = 15;
/** For the log. */
export const SCHEMA_WAITS = 'the schema waits for a long transaction, such as pg_dump';

type Applied = AppliedMigration & { compatibleFrom: number };

export type MigrateOptions = {
  now: number;
  /** Into how many partitions by owner the tables that grow are divided; only when the store is made. */
  partitions?: number | undefined;
  /** Whether it is for a copy into the store, which may have been broken off before. */
  allowsCopy?: boolean;
  /** Called when the schema waits for a transaction of somebody else, and once in a while as long as it does. */
  onWait(): void;
  bounds?: Record<'migrationLockMs' | 'migrationPauseMs' | 'migrationTellMs' | 'briefIndexBytes', number>;
};

/**
 * Applies the numbered files that are missing, in order, each in a transaction under a lock that one program at a time
 * holds, and resolves with their names.
 *
 * Replicas of the version before go on working beside it: a file says in its first line which is the oldest program
 * that understands the schema behind it. A program is refused only when a file that it does not know excludes it. Nor
 * does a file keep them from a table for long that a transaction of somebody else holds, `pg_dump` for one: whatever they
 * ask of it would queue up behind the file's lock, so that is given up soon, and the file tried again later.
 *
 * @throws Error when the server is too old, the store too new, or a copy into it not finished
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<string[]> {
  const known = readMigrations(FOLDER);
  return withOwnClient(database, 'migrate', async (client) => {
    await refuseServer(client);
    const names: string[] = [];
    for (;;) {
      const migration = nextOf(await appliedMigrations(client), known);
      if (!migration) break;
      const isMissing = async () => nextOf(await appliedMigrations(client), known) === migration;
      const { onWait, bounds = limits } = options;
      await insist(
        () => buildIndexes(database, client, migration.sql, { isMissing, onWait, bounds }),
        options,
      );
      if (await insist(() => applyNext(client, { migration, isMissing }, options), options)) {
        names.push(migration.name);
      }
    }
    await adoptServer(client);
    if (!options.allowsCopy) await refuseUnfinishedCopy(client);
    return names;
  });
}

const DIVISION = statement`SELECT to_regclass('plants') IS NOT NULL AS is_made,
    (SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('plants')) AS partitions`;

/** Into how many partitions the tables that grow are divided, 0 for none; undefined when there is no store. */
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
    throw new Error(`PostgreSQL ${version} is too old; ${OLDEST_SERVER} or newer is needed.`);
  }
  if (encoding !== 'UTF8') {
    throw new Error(
      `The database has the encoding ${encoding}; UTF8 is needed: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
    );
  }
}

/** Tries again, for as long as it takes, while somebody holds a lock on what the work needs. */
async function insist<T>(
  work: () => Promise<T>,
  { onWait, bounds: { migrationPauseMs, migrationTellMs } = limits }: MigrateOptions,
): Promise<T> {
  const isTold = throttle(migrationTellMs);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    }
    if (isTold()) onWait();
    await pause(migrationPauseMs);
  }
}

type Next = { migration: Migration; isMissing(): Promise<boolean> };

/** False when another program was faster. */
async function applyNext(
  client: pg.Client,
  { migration, isMissing }: Next,
  { now, partitions, bounds: { migrationLockMs } = limits }: MigrateOptions,
): Promise<boolean> {
  await client.query('BEGIN');
  try {
    // For this one as long as it takes: who holds it migrates.
    await client.query('SET LOCAL lock_timeout = 0');
    await client.query('SELECT pg_advisory_xact_lock($1, $2)', LOCKS.migration);
    await client.query(`SET LOCAL lock_timeout = ${migrationLockMs}`);
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
    if (applies) await apply(client, migration, { now, partitions });
    await client.query('COMMIT');
    return applies;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function apply(
  client: pg.Client,
  migration: Migration,
  { now, partitions }: Pick<MigrateOptions, 'now' | 'partitions'>,
) {
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
  await client.query(partitioned);
  for (const table of tables) await createPartitions(client, table, partitions ?? 0);
  const compatibleFrom = Number(/^-- compatible from: (\d+)\n/.exec(sql)?.[1] ?? version);
  await client.query(
    'INSERT INTO migrations (version, name, checksum, compatible_from, applied_at) VALUES ($1, $2, $3, $4, $5)',
    [version, name, checksum, compatibleFrom, now],
  );
}

async function createPartitions(client: pg.Client, table: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await client.query(
      `CREATE TABLE ${table}_${n} PARTITION OF ${table} FOR VALUES WITH (MODULUS ${count}, REMAINDER ${n})`,
    );
  }
}

async function appliedMigrations(client: pg.Client): Promise<Applied[]> {
  const { rows: tables } = await client.query(`SELECT to_regclass('migrations') AS found`);
  if (tables[0].found === null) return [];
  const { rows } = await client.query(
    'SELECT version, checksum, compatible_from AS "compatibleFrom" FROM migrations ORDER BY version',
  );
  return rows;
}

/** The file that is to be applied next; undefined when none is missing. */
function nextOf(applied: readonly Applied[], known: readonly Migration[]): Migration | undefined {
  refuseChanged(applied, known);
  const excluding = applied.slice(known.length).find(({ compatibleFrom }) => compatibleFrom > known.length);
  if (excluding) throw newerStore(excluding.version, known);
  return known[applied.length];
}

/**
 * On a server that is new to the store (a dump that was restored, say) transactions have lower numbers than those that
 * stand in the feed: from now on it counts on from these, so that whoever follows the feed skips nothing.
 */
async function adoptServer(client: pg.Client): Promise<void> {
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock($1, $2)', LOCKS.migration);
  await client.query(
    `WITH newest AS (
       SELECT greatest((SELECT max(tx) FROM events), (SELECT max(tx) FROM removed_events), 0) AS tx
     ), changed AS (
       SELECT s.system_identifier AS server
       FROM pg_control_system() s
       JOIN meta ON meta.name = 'server' AND meta.value <> s.system_identifier
     ), removed_users AS (
       -- Whatever began before they were deleted ended with the other server.
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

/** What is there so far is not a store yet, and what others write would be in the way of the rest. */
async function refuseUnfinishedCopy(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`SELECT to_regclass('copy_progress') AS found`);
  if (rows[0].found === null) return;
  throw new Error(
    'A copy into this database is under way, or was broken off. In the latter case run plant-store copy again, which goes on where it was.',
  );
}
