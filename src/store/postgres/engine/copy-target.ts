import { AppError } from '../../../errors.ts';
import { database as limits } from '../../../limits.ts';
import type { CopiedRow, CopiedTable, CopySource, CopyTarget } from '../../copy.ts';
import { checksumInSql, type Summary, summaryOf } from '../../copy.ts';
import { unavailable } from '../../write-outcomes.ts';
import { HEEDS_COUNTERS } from '../plants/assigned-ids.ts';
import { type Database, openDatabase, type Statement, statement } from './database.ts';
import { LOCKS } from './locks.ts';
import { type MigrateOptions, migrate } from './migrate.ts';
import { type DatabaseOptions, withOwnClient } from './primary.ts';

type ImportOptions = Omit<DatabaseOptions, 'connections'> & Pick<MigrateOptions, 'now' | 'onWait'>;

/**
 * Opens a database to receive the copy of another store; creates and migrates the store there. While the table
 * `copy_progress` exists, nobody else opens it (`refuseUnfinishedCopy`).
 */
export async function openImport({ now, onWait, ...options }: ImportOptions): Promise<CopyTarget> {
  const database = openDatabase({ ...options, connections: limits.connectionsOfVerb });
  try {
    await migrate(database, { now, allowsCopy: true, onWait });
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    begin: (source) => begin(database, source),
    add: (table, rows, before) => add(database, table, { rows, before }),
    summary: (table) => summarize(database, table),
    finish: (source) => finish(database, source),
    close: database.close,
  };
}

const ONE_AT_A_TIME = statement`SELECT pg_advisory_xact_lock($1, $2)`;

const STANDING = statement`SELECT to_regclass('copy_progress') IS NOT NULL AS is_begun,
    EXISTS (SELECT 1 FROM users) AS is_used,
    EXISTS (SELECT 1 FROM meta WHERE name = 'key' AND value = $1) AS is_done`;

/** The answer to the last transaction of a copy may be lost. */
const DONE =
  'The copy of this store into the database is done: start the service on it. To copy what was added to the store ' +
  'since, use an empty database.';
const USED = 'The database already has a store with users. A copy needs an empty database.';

const MAKE_PROGRESS = statement`CREATE TABLE copy_progress (
    -- Identifies the source store.
    source bigint NOT NULL,
    name   text COLLATE "C" NOT NULL PRIMARY KEY,
    copied bigint NOT NULL
  )`;

const NOTE_TABLES = statement`INSERT INTO copy_progress (source, name, copied)
  SELECT $1, name, 0
  FROM unnest($2::text[]) AS name`;

const PROGRESS = statement`SELECT source, name, copied FROM copy_progress`;

async function begin(
  { transaction }: Database,
  { cursorKeys, tables }: CopySource,
): Promise<ReadonlyMap<string, number>> {
  // Each store has a different one.
  const { storeKey: source } = cursorKeys;
  const progress = await transaction(async (query) => {
    await query(ONE_AT_A_TIME, LOCKS.migration);
    const [standing] = await query(STANDING, [source]);
    if (standing?.is_begun !== true) {
      if (standing?.is_used === true) throw new Error(standing.is_done === true ? DONE : USED);
      await query(MAKE_PROGRESS);
      await query(NOTE_TABLES, [source, tables.map(({ name }) => name)]);
    }
    return query(PROGRESS);
  });
  if (progress.some((row) => Number(row.source) !== source)) {
    throw new Error('The database has an unfinished copy of another store. Recreate the database.');
  }
  return new Map(progress.map(({ name, copied }) => [String(name), Number(copied)]));
}

/** For deleted users and webhooks whose data is still to be removed: no transaction of this server can add to it. */
const DELETED: Readonly<Record<string, string>> = {
  users: `CASE WHEN i.deleted_at IS NOT NULL THEN '0'::xid8 END`,
  webhooks: `CASE WHEN i.status = 'deleted' THEN '0'::xid8 END`,
};

/** Adds rows and progress in one statement, so that two concurrent copies cannot add the same. */
function addTo({ name, columns }: CopiedTable): Statement {
  const deleted = DELETED[name];
  return statement`WITH moved AS (
      UPDATE copy_progress
      SET copied = copied + $2::int8
      WHERE name = $1 AND copied = $3::int8
      RETURNING ${HEEDS_COUNTERS}
    ), added AS (
      INSERT INTO ${name} (${[...columns, ...(deleted ? ['deleted_tx'] : [])].join(', ')})
      SELECT ${[...columns.map((column) => `i.${column}`), ...(deleted ? [deleted] : [])].join(', ')}
      FROM json_populate_recordset(NULL::${name}, $4) AS i
      WHERE EXISTS (SELECT 1 FROM moved)
      ON CONFLICT DO NOTHING
      RETURNING 1
    )
    SELECT count(*) AS added
    FROM added`;
}

async function add(
  { write }: Database,
  table: CopiedTable,
  { rows, before }: { rows: readonly CopiedRow[]; before: number },
): Promise<void> {
  const values = [table.name, rows.length, before, JSON.stringify(rows)];
  const [result] = await write([{ statement: addTo(table), values }]);
  if (Number(result?.[0]?.added) === rows.length) return;
  throw new Error(
    `The database has other rows of ${table.name}: another copy into it is running, or the store changed ` +
      'between two runs. In the latter case recreate the database and copy again.',
  );
}

/**
 * Reads a whole table, and analyzes it: the server never analyzes partitioned tables itself, and later statements would
 * be planned for an empty one.
 */
async function summarize(database: Database, { name, columns }: CopiedTable): Promise<Summary> {
  try {
    return await withOwnClient(database, 'copy', async (client) => {
      await client.query(`ANALYZE ${name}`);
      const { rows } = await client.query(checksumInSql(name, columns));
      return summaryOf(Number(rows[0].rows), BigInt(rows[0].sum));
    });
  } catch (error) {
    throw error instanceof AppError ? error : unavailable(error);
  }
}

const GO_ON_BEHIND_USERS = statement`SELECT setval(pg_get_serial_sequence('users', 'id'), $1::int8)
  WHERE $1::int8 > 0`;

const GO_ON_BEHIND_REPLAYS = statement`SELECT setval(pg_get_serial_sequence('replays', 'id'), max(id))
  FROM replays
  HAVING max(id) > 0`;

const TAKE_KEYS = statement`WITH cursors AS (
    UPDATE cursor_key
    SET secret = $1
  )
  UPDATE meta
  SET value = $2
  WHERE name = 'key'`;

const FORGET_PROGRESS = statement`DROP TABLE copy_progress`;

async function finish({ write }: Database, { cursorKeys, lastUser }: CopySource): Promise<void> {
  await write([
    { statement: GO_ON_BEHIND_USERS, values: [lastUser] },
    { statement: GO_ON_BEHIND_REPLAYS, values: [] },
    { statement: TAKE_KEYS, values: [cursorKeys.secret, cursorKeys.storeKey] },
    { statement: FORGET_PROGRESS, values: [] },
  ]);
}
