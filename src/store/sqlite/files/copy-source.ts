import type { DatabaseSync } from 'node:sqlite';
import type { RequestKey } from '../../../idempotency/port.ts';
import type { CopiedRow, CopySource, SourceTable } from '../../copy.ts';
import { CURSOR_KEYS, toCursorKeys } from '../../rows.ts';
import { openConnection } from '../engine/connection.ts';
import { migrate } from '../engine/migrate.ts';
import { recoverStore } from './durable-log.ts';

type ExportOptions = {
  path: string;
  now: number;
  /** The target's form of what a key belongs to. */
  requestOf(key: Omit<RequestKey, 'user'>): string;
};

/** Opens an embedded store for copying, migrates it and locks out other writers. Call it under the server lock. */
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
  return {
    tables: Object.entries(origins).map(([name, differing]) => sourceTable(db, name, differing)),
    cursorKeys: toCursorKeys(db.prepare(CURSOR_KEYS).get() ?? {}),
    lastUser: lastUserOf(db),
    close: () => db.close(),
  };
}

function lastUserOf(db: DatabaseSync): number {
  const last = db.prepare(`SELECT max(value, (SELECT coalesce(max(id), 0) FROM users)) AS id
    FROM meta
    WHERE name = 'last_user'`);
  return Number(last.get()?.id);
}

const SUBSCRIBER = '(SELECT owner FROM webhooks WHERE id = t.webhook)';

/**
 * The tables, each after those it references, with the columns that the target names or stores differently, or that only
 * one of the two has: SQL for the value of each column of the target, and null for one that it lacks.
 */
const origins: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
  users: {},
  assigned_ids: {},
  tokens: { user: null, user_id: 't.user', bootstrap: asBoolean('t.bootstrap') },
  // Events of this store are ordered by id: to the target all were written at once, before its own.
  shares: { removed: null, removed_tx: 'iif(t.removed IS NULL, NULL, 0)', removed_event: 't.removed' },
  // No attempt is in flight, so it may begin anew.
  webhooks: { generation: null },
  webhook_secrets: {},
  plants: {},
  events: { tx: '0' },
  removed_events: { tx: '0' },
  deliveries: {
    subscriber: SUBSCRIBER,
    leased: asBoolean('0'),
    generation: null,
    fence: 't.generation',
    asked: asBoolean('t.asked'),
  },
  attempts: { subscriber: SUBSCRIBER, generation: null, fence: 't.generation' },
  replays: { owner: null, subscriber: 't.owner', hastens: asBoolean('t.hastens') },
  withdrawals: { subscriber: SUBSCRIBER },
  idempotency: {
    user: null,
    method: null,
    path: null,
    key: null,
    user_id: 't.user',
    request: 'request_of(t.method, t.path, t.key)',
  },
};

function sourceTable(db: DatabaseSync, name: string, differing: (typeof origins)[string]): SourceTable {
  const own = db.prepare('SELECT name, pk FROM pragma_table_info(?) ORDER BY pk').all(name);
  const same = own.map((column) => [String(column.name), `t.${column.name}`] as const);
  const all = { ...Object.fromEntries(same), ...differing };
  const values = Object.entries(all).filter(([, value]) => value !== null);
  const key = own.filter(({ pk }) => pk !== 0).map((column) => `t.${column.name}`);
  const select = `SELECT ${values.map(([column, value]) => `CAST(${value} AS TEXT) AS ${column}`).join(', ')}
     FROM ${name} t
     ORDER BY ${key.join(', ')}
     LIMIT -1 OFFSET CAST(? AS INTEGER)`;
  return {
    name,
    columns: values.map(([column]) => column),
    count: () => Number(db.prepare(`SELECT count(*) AS count FROM ${name}`).get()?.count),
    *rows(skipped) {
      for (const row of db.prepare(select).iterate(skipped)) yield rowOf(row);
    },
  };
}

/** Every value is read as text. */
function rowOf(row: Readonly<Record<string, unknown>>): CopiedRow {
  const copied: Record<string, string | null> = {};
  for (const [column, value] of Object.entries(row)) {
    // PostgreSQL cannot store NUL; this store may contain some, in responses of receivers.
    copied[column] = typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : null;
  }
  return copied;
}

function asBoolean(value: string): string {
  return `iif(${value}, 'true', 'false')`;
}
