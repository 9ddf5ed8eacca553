import type { DatabaseSync } from 'node:sqlite';
import type { RequestKey } from '../../../idempotency/port.ts';
import type { CopiedRow, CopySource, SourceTable, StoreFacts } from '../../copy.ts';
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
    tables: Object.entries(origins).map(([name, origin]) => sourceTable(db, name, origin)),
    facts: factsOf(db),
    close: () => db.close(),
  };
}

function factsOf(db: DatabaseSync): StoreFacts {
  const last = db.prepare(`SELECT value FROM meta WHERE name = 'last_user'`);
  const newest = db.prepare('SELECT max(id) AS id FROM users');
  return {
    cursorKeys: toCursorKeys(db.prepare(CURSOR_KEYS).get() ?? {}),
    lastUser: Math.max(Number(last.get()?.value), Number(newest.get()?.id)),
  };
}

/** A table of the target and where its rows come from. */
type Origin = {
  columns: string;
  /** The primary key in this store. */
  key: string;
  /** SQL for columns that this store names or stores differently, or lacks. */
  differing?: Readonly<Record<string, string>>;
};

const SUBSCRIBER = '(SELECT owner FROM webhooks WHERE id = t.webhook)';

const origins: Readonly<Record<string, Origin>> = {
  users: { columns: 'id name created_at disabled_at deleted_at', key: 'id' },
  assigned_ids: { columns: 'owner last', key: 'owner' },
  tokens: {
    columns:
      'hash id user_id label scopes bootstrap created_at expires_at revoked_at replaced_by last_used_on',
    differing: { user_id: 't.user', bootstrap: asBoolean('t.bootstrap') },
    key: 'hash',
  },
  shares: {
    columns: 'owner viewer created_at removed_tx removed_event',
    // Events of this store are ordered by id: to the target all were written at once, before its own.
    differing: { removed_tx: 'iif(t.removed IS NULL, NULL, 0)', removed_event: 't.removed' },
    key: 'owner, viewer',
  },
  webhooks: {
    columns:
      'owner id url description rate status disabled_reason paused_until failing_since last_success_at ' +
      'last_failure_at private_key public_key created_at',
    key: 'owner, id',
  },
  webhook_secrets: { columns: 'webhook created_at secret expires_at', key: 'webhook, created_at, secret' },
  plants: { columns: 'owner id name folded tag created_at', key: 'owner, id' },
  events: {
    columns: 'owner id tx type plant name tag created_at trace',
    differing: { tx: '0' },
    key: 'owner, id',
  },
  removed_events: { columns: 'owner tx event', differing: { tx: '0' }, key: 'owner' },
  deliveries: {
    columns: 'subscriber webhook event owner state attempts step due leased fence reason asked suspicions',
    differing: {
      subscriber: SUBSCRIBER,
      leased: asBoolean('0'),
      fence: 't.generation',
      asked: asBoolean('t.asked'),
    },
    key: 'webhook, event',
  },
  attempts: {
    columns: 'subscriber webhook event fence at duration_ms address status excerpt error',
    differing: { subscriber: SUBSCRIBER, fence: 't.generation' },
    key: 'webhook, event, generation',
  },
  replays: {
    columns: 'id subscriber webhook hastens state next through',
    differing: { subscriber: 't.owner', hastens: asBoolean('t.hastens') },
    key: 'id',
  },
  withdrawals: {
    columns: 'subscriber webhook owner next through',
    differing: { subscriber: SUBSCRIBER },
    key: 'webhook, owner',
  },
  idempotency: {
    columns: 'user_id request fingerprint status location body expires_at',
    differing: { user_id: 't.user', request: 'request_of(t.method, t.path, t.key)' },
    key: 'user, method, path, key',
  },
};

function sourceTable(db: DatabaseSync, name: string, origin: Origin): SourceTable {
  const columns = origin.columns.split(' ');
  const values = columns.map(
    (column) => `CAST(${origin.differing?.[column] ?? `t.${column}`} AS TEXT) AS ${column}`,
  );
  const all = `SELECT ${values.join(', ')}
     FROM ${name} t
     ORDER BY ${origin.key.replaceAll(/\w+/g, 't.$&')}
     LIMIT -1 OFFSET CAST(? AS INTEGER)`;
  return {
    name,
    columns,
    count: () => Number(db.prepare(`SELECT count(*) AS count FROM ${name}`).get()?.count),
    *rows(skipped) {
      for (const row of db.prepare(all).iterate(skipped)) yield rowOf(row);
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
