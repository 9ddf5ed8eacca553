import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { RequestKey } from '../../idempotency.ts';
import type { ColumnType, CopiedTable } from '../copied-tables.ts';
import type { Chunk, CopiedRow, CopySource, StoreFacts } from '../copy.ts';
import { openConnection } from './connection.ts';
import { readCursorKeys } from './cursor-keys.ts';
import { recoverStore } from './durable-log.ts';
import { migrate } from './migrate.ts';

type ExportOptions = {
  path: string;
  now: number;
  /** How the other store writes down what a key belongs to. */
  requestOf(key: Omit<RequestKey, 'user'>): string;
};

/**
 * Opens an embedded store to be copied, and brings its schema up to date. Nobody else can write to it until it is
 * closed. To be called under the lock of servers.
 */
export function openExport({ path, now, requestOf }: ExportOptions): CopySource {
  recoverStore(path);
  const db = openConnection(path);
  try {
    migrate(db, now);
    db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    db.close();
    throw error;
  }
  db.function('request_of', { deterministic: true }, (method, path, key) =>
    requestOf({ method: String(method), path: String(path), key: String(key) }),
  );
  const readers = new Map<string, Reader>();

  function readerOf(table: CopiedTable): Reader {
    const reader = readers.get(table.name) ?? createReader(db, table);
    readers.set(table.name, reader);
    return reader;
  }

  return {
    facts: factsOf(db),
    count: ({ name }) => Number(db.prepare(`SELECT count(*) AS count FROM ${name}`).get()?.count),
    read: async (table, after, limit) => readerOf(table)(after, limit),
    close: () => db.close(),
  };
}

function factsOf(db: DatabaseSync): StoreFacts {
  const last = db.prepare(`SELECT value FROM meta WHERE name = 'last_user'`);
  const newest = db.prepare('SELECT max(id) AS id FROM users');
  return {
    cursorKeys: readCursorKeys(db),
    lastUser: Math.max(Number(last.get()?.value), Number(newest.get()?.id)),
  };
}

/** How a table is read where it differs from the one that it becomes. */
type Origin = {
  /** With the alias `t`. */
  from: string;
  /** Columns that have another name, or none, as SQL. */
  columns?: Readonly<Record<string, string>>;
  /** The primary key. */
  key: readonly string[];
};

const SUBSCRIBER = '(SELECT owner FROM webhooks WHERE id = t.webhook)';

const origins: Readonly<Record<string, Origin>> = {
  users: { from: 'users t', key: ['t.id'] },
  assigned_ids: { from: 'assigned_ids t', key: ['t.owner'] },
  tokens: { from: 'tokens t', columns: { user_id: 't.user' }, key: ['t.hash'] },
  shares: {
    from: 'shares t',
    // Events of this store are in the order of their ids: to the other one all were written at once, before its own.
    columns: { removed_tx: 'iif(t.removed IS NULL, NULL, 0)', removed_event: 't.removed' },
    key: ['t.owner', 't.viewer'],
  },
  webhooks: { from: 'webhooks t', key: ['t.owner', 't.id'] },
  webhook_secrets: { from: 'webhook_secrets t', key: ['t.webhook', 't.created_at', 't.secret'] },
  plants: { from: 'plants t', key: ['t.owner', 't.id'] },
  events: { from: 'events t', columns: { tx: '0' }, key: ['t.owner', 't.id'] },
  removed_events: { from: 'removed_events t', columns: { tx: '0' }, key: ['t.owner'] },
  deliveries: {
    from: 'deliveries t',
    columns: { subscriber: SUBSCRIBER, leased: '0', fence: 't.generation' },
    key: ['t.webhook', 't.event'],
  },
  attempts: {
    from: 'attempts t',
    columns: { subscriber: SUBSCRIBER, fence: 't.generation' },
    key: ['t.webhook', 't.event', 't.generation'],
  },
  replays: { from: 'replays t', columns: { subscriber: 't.owner' }, key: ['t.id'] },
  withdrawals: {
    from: 'withdrawals t',
    columns: { subscriber: SUBSCRIBER },
    key: ['t.webhook', 't.owner'],
  },
  idempotency: {
    from: 'idempotency t',
    columns: { user_id: 't.user', request: 'request_of(t.method, t.path, t.key)' },
    key: ['t.user', 't.method', 't.path', 't.key'],
  },
};

type Reader = (after: string | undefined, limit: number) => Chunk;
type Stored = Record<string, unknown>;

/** A position is the key of a row, as a JSON array. */
function createReader(db: DatabaseSync, { name, columns }: CopiedTable): Reader {
  const origin = origins[name];
  if (!origin) throw new Error(`nothing becomes the table ${name}`);
  const { from, key, columns: differing = {} } = origin;
  const names = Object.keys(columns);
  const values = Object.entries(columns).map(
    ([column, type]) => `${textOf(differing[column] ?? `t.${column}`, type)} AS ${column}`,
  );
  const keys = key.map((column, n) => `${column} AS key_${n}`);
  const read = (where: string) => `SELECT ${[...values, ...keys].join(', ')}
     FROM ${from}
     ${where}
     ORDER BY ${key.join(', ')}
     LIMIT CAST(? AS INTEGER)`;
  const first = db.prepare(read(''));
  const behind = db.prepare(read(`WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`));

  return (after, limit) => {
    const found = after === undefined ? all(first, [limit]) : all(behind, [...positionOf(after), limit]);
    return {
      rows: found.map((row) => rowOf(row, names)),
      end: JSON.stringify(
        key.map((_, n) => found.at(-1)?.[`key_${n}`]),
        exactly,
      ),
    };
  };
}

/** Keys have 64-bit integers. */
function all(statement: StatementSync, values: readonly SQLInputValue[]): Stored[] {
  statement.setReadBigInts(true);
  return statement.all(...values);
}

function textOf(value: string, type: ColumnType): string {
  if (type === 'boolean') return `iif(${value}, 'true', 'false')`;
  return type === 'integer' ? `CAST(${value} AS TEXT)` : value;
}

function rowOf(row: Stored, names: readonly string[]): CopiedRow {
  const copied: Record<string, string | null> = {};
  for (const name of names) {
    const value = row[name];
    // The other store has no place for it; this one may have some, in what receivers answered.
    copied[name] = typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : null;
  }
  return copied;
}

/** Integers as objects: a JSON number would lose digits, and a text is not equal to an integer. */
function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? { integer: String(value) } : value;
}

function positionOf(after: string): SQLInputValue[] {
  // It was made by the function above.
  const key = JSON.parse(after) as (string | { integer: string })[];
  return key.map((value) => (typeof value === 'string' ? value : BigInt(value.integer)));
}
