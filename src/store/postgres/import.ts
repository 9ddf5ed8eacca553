import type { DatabaseUrl } from '../../database-url.ts';
import { database as limits } from '../../limits.ts';
import type { Log } from '../../runtime.ts';
import { type CopiedTable, copiedTables } from '../copied-tables.ts';
import type { Chunk, Copied, CopiedRow, CopyTarget, StoreFacts } from '../copy.ts';
import { HEEDS_COUNTERS } from './assigned-ids.ts';
import { type Database, openDatabase, type Query, type Row, type Statement } from './database.ts';
import { LOCKS } from './locks.ts';
import { migrate, SCHEMA_WAITS } from './migrate.ts';
import { withOwnClient } from './own-client.ts';

export type ImportOptions = {
  url: DatabaseUrl;
  /** Whether a pooler stands between that gives each transaction another session. */
  pooled: boolean;
  now: number;
  log: Log;
};

/**
 * Opens a database to be filled with the copy of another store, makes the store in it when it is not there, and brings
 * its schema up to date.
 *
 * How far the copy came stands in the table `copy_progress`. As long as that is there, nobody else opens the store
 * (`refuseUnfinishedCopy`).
 */
export async function openImport({ url, pooled, now, log }: ImportOptions): Promise<CopyTarget> {
  const database = openDatabase({ url, pooled, log, connections: limits.connectionsOfVerb });
  try {
    const onWait = () => log.warn({}, SCHEMA_WAITS);
    await migrate(database, { now, allowsCopy: true, onWait });
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    begin: (facts) => begin(database, facts),
    read: (table, after, limit) => read(database, table, { after, limit }),
    add: (table, chunk, after) => add(database, table, { chunk, after }),
    analyze: () => analyze(database),
    finish: (facts) => finish(database, facts, now),
    close: database.close,
  };
}

const ONE_AT_A_TIME: Statement = {
  name: 'copy-one-at-a-time',
  text: 'SELECT pg_advisory_xact_lock($1, $2)',
};

const STANDING: Statement = {
  name: 'copy-standing',
  text: `SELECT to_regclass('copy_progress') IS NOT NULL AS is_begun, EXISTS (SELECT 1 FROM users) AS is_used`,
};

const MAKE_PROGRESS: Statement = {
  name: 'copy-make-progress',
  text: `CREATE TABLE copy_progress (
      -- What is copied.
      source bigint NOT NULL,
      name   text COLLATE "C" NOT NULL PRIMARY KEY,
      copied bigint NOT NULL,
      -- Of the last row; null when there is none yet.
      position text
    )`,
};

const NOTE_TABLES: Statement = {
  name: 'copy-note-tables',
  text: `INSERT INTO copy_progress (source, name, copied)
    SELECT $1, name, 0
    FROM unnest($2::text[]) AS name`,
};

const PROGRESS: Statement = {
  name: 'copy-progress',
  text: 'SELECT source, name, copied, position FROM copy_progress',
};

async function begin(
  { transaction }: Database,
  { cursorKeys }: StoreFacts,
): Promise<ReadonlyMap<string, Copied>> {
  // It is another one in every store.
  const { oldKey: source } = cursorKeys;
  const progress = await transaction((query) => mark(query, source));
  if (!progress) {
    throw new Error('There is a store with users in the database already. A copy needs an empty database.');
  }
  if (progress.some((row) => Number(row.source) !== source)) {
    throw new Error('The database holds a part of the copy of another store. Make the database anew.');
  }
  return new Map(
    progress.map(({ name, copied, position }) => [
      String(name),
      { rows: Number(copied), end: position === null ? undefined : String(position) },
    ]),
  );
}

/** How far a copy has come, this one or another; undefined when there is a store. */
async function mark(query: Query, source: number): Promise<Row[] | undefined> {
  await query(ONE_AT_A_TIME, LOCKS.migration);
  const [standing] = await query(STANDING);
  if (standing?.is_begun !== true) {
    // Everything in a store belongs to a user.
    if (standing?.is_used === true) return undefined;
    await query(MAKE_PROGRESS);
    await query(NOTE_TABLES, [source, copiedTables.map(({ name }) => name)]);
  }
  return query(PROGRESS);
}

/**
 * Of a user, or a webhook, that is deleted and whose last traces are still to be removed: no transaction of this server
 * may still add to them.
 */
const DELETED: Readonly<Record<string, string>> = {
  users: `CASE WHEN i.deleted_at IS NOT NULL THEN '0'::xid8 END`,
  webhooks: `CASE WHEN i.status = 'deleted' THEN '0'::xid8 END`,
};

const TYPES = { integer: 'int8', text: 'text', boolean: 'boolean' } as const;

/** The rows and the mark are one statement, so that two copies at a time cannot add the same. */
function addTo({ name, columns }: CopiedTable): Statement {
  const names = Object.keys(columns);
  const types = Object.entries(columns).map(([column, type]) => `${column} ${TYPES[type]}`);
  const deleted = DELETED[name];
  return {
    name: `copy-add-${name}`,
    text: `WITH moved AS (
        UPDATE copy_progress
        SET position = $2, copied = copied + $3::int8
        WHERE name = $1 AND position IS NOT DISTINCT FROM $4
        RETURNING ${HEEDS_COUNTERS}
      ), added AS (
        INSERT INTO ${name} (${[...names, ...(deleted ? ['deleted_tx'] : [])].join(', ')})
        SELECT ${[...names.map((column) => `i.${column}`), ...(deleted ? [deleted] : [])].join(', ')}
        FROM json_to_recordset($5) AS i(${types.join(', ')})
        WHERE EXISTS (SELECT 1 FROM moved)
        RETURNING 1
      )
      SELECT count(*) AS added
      FROM added`,
  };
}

async function add(
  { write }: Database,
  table: CopiedTable,
  { chunk: { rows, end }, after }: { chunk: Chunk; after: string | undefined },
): Promise<void> {
  const values = [table.name, end, rows.length, after ?? null, JSON.stringify(rows)];
  const [result] = await write([{ statement: addTo(table), values }]);
  if (Number(result?.[0]?.added) !== rows.length)
    throw new Error('Another copy into this database is under way.');
}

/** A position is the key of a row, as a JSON array of texts. */
async function read(
  { read }: Database,
  table: CopiedTable,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<Chunk> {
  // It was made below.
  const position = after === undefined ? [] : (JSON.parse(after) as string[]);
  const found = await read(readOf(table, position.length > 0), [limit, ...position]);
  // Every column is asked for as text.
  const rows = found as CopiedRow[];
  return { rows, end: JSON.stringify(table.key.map((column) => rows.at(-1)?.[column])) };
}

function readOf({ name, key, columns }: CopiedTable, isBehind: boolean): Statement {
  const values = Object.keys(columns).map((column) => `t.${column}::text AS ${column}`);
  const keys = key.map((column) => `t.${column}`).join(', ');
  const position = key.map((column, n) => `$${n + 2}::${TYPES[columns[column] ?? 'text']}`).join(', ');
  return {
    name: `copy-read-${name}${isBehind ? '-behind' : ''}`,
    text: `SELECT ${values.join(', ')}
      FROM ${name} t
      ${isBehind ? `WHERE (${keys}) > (${position})` : ''}
      ORDER BY ${keys}
      LIMIT $1`,
  };
}

/** Without it statements would be planned as for empty tables. Partitioned ones the server never analyzes by itself. */
async function analyze(database: Database): Promise<void> {
  await withOwnClient(database, 'copy', async (client) => {
    for (const { name } of copiedTables) await client.query(`ANALYZE ${name}`);
  });
}

const GO_ON_BEHIND_USERS: Statement = {
  name: 'copy-go-on-behind-users',
  text: `SELECT setval(pg_get_serial_sequence('users', 'id'), $1::int8)
    WHERE $1::int8 > 0`,
};

const GO_ON_BEHIND_REPLAYS: Statement = {
  name: 'copy-go-on-behind-replays',
  text: `SELECT setval(pg_get_serial_sequence('replays', 'id'), max(id))
    FROM replays
    HAVING max(id) > 0`,
};

const TAKE_KEYS: Statement = {
  name: 'copy-take-keys',
  text: `WITH cursors AS (
      UPDATE cursor_key
      SET secret = $1, old_until = $2
    )
    UPDATE meta
    SET value = $3
    WHERE name = 'key'`,
};

/** Nobody holds a lease any more: those who did are gone with the store that was copied. */
const END_LEASES: Statement = {
  name: 'copy-end-leases',
  text: `UPDATE deliveries
    SET leased = false, due = $1
    WHERE leased`,
};

const FORGET_PROGRESS: Statement = { name: 'copy-forget-progress', text: 'DROP TABLE copy_progress' };

async function finish({ write }: Database, { cursorKeys, lastUser }: StoreFacts, now: number): Promise<void> {
  await write([
    { statement: GO_ON_BEHIND_USERS, values: [lastUser] },
    { statement: GO_ON_BEHIND_REPLAYS, values: [] },
    { statement: TAKE_KEYS, values: [cursorKeys.secret, cursorKeys.oldUntil, cursorKeys.oldKey] },
    { statement: END_LEASES, values: [now] },
    { statement: FORGET_PROGRESS, values: [] },
  ]);
}
