import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { throttle } from '../../../runtime.ts';
import { toRecord } from '../../rows.ts';
import { type Database, statement } from './database.ts';
import { LOCKS } from './locks.ts';
import { withOwnClient } from './primary.ts';
import { BEGIN_WITHOUT_TIMEOUTS } from './session.ts';

/**
 * Builds the indexes that a migration marks with `beside writes` before it runs; its transaction then adopts them.
 * `CREATE INDEX` blocks writes while it reads a large table, and `CONCURRENTLY` cannot run in a transaction.
 */

type BuildOptions = {
  /** Whether it is still missing: another program may have been faster. */
  isMissing(): Promise<boolean>;
  /** Called once in a while as long as a build waits for another transaction or another build. */
  onWait(): void;
  bounds: Record<'migrationPauseMs' | 'migrationTellMs' | 'briefIndexBytes', number>;
};

type Index = { name: string; table: string; definition: string };

const MARKED = /CREATE INDEX IF NOT EXISTS (\w+) \/\* beside writes \*\/ ON (\w+) ([^;]+);/g;

/** Builds the indexes that a migration marks. Rebuilds what an interrupted build left. */
export async function buildIndexes(
  database: Pick<Database, 'primaryUrl' | 'pooled' | 'read'>,
  client: pg.Client,
  sql: string,
  options: BuildOptions,
): Promise<void> {
  const wanted = [...sql.matchAll(MARKED)].map(([, name = '', table = '', definition = '']) => {
    return { name, table, definition };
  });
  if (wanted.length === 0) return;
  await withOwnClient(database, 'migrate guard', async (guard) => {
    await lockAlone(guard, options);
    if (!(await options.isMissing())) return;
    for (const index of wanted) {
      for (const part of await toBuild(client, index, options)) {
        await build(client, part, (work) => tellWaits(database, work, options));
      }
    }
  });
}

/**
 * Two builds on one table would wait for each other until the server ends one. The lock belongs to a transaction,
 * because of poolers, on a second connection, since a build is several transactions. No statement waits for it, because
 * a build waits for every statement that began before it.
 */
async function lockAlone(guard: pg.Client, { onWait, bounds }: BuildOptions): Promise<void> {
  const isTold = throttle(bounds.migrationTellMs);
  // Only if it lasts: programs that start at the same time wait for a moment.
  isTold();
  for (;;) {
    await guard.query(BEGIN_WITHOUT_TIMEOUTS);
    // Without parameters: the portal of a parameterized statement keeps its snapshot, which a build would wait for.
    const { rows } = await guard.query(`SELECT pg_try_advisory_xact_lock(${LOCKS.indexes}) AS is_held`);
    if (rows[0].is_held) return;
    await guard.query('ROLLBACK');
    if (isTold()) onWait();
    await pause(bounds.migrationPauseMs);
  }
}

type Part = Index & { isBroken: boolean; isGrowing: boolean };

/**
 * The indexes to build, once no build of a program that was killed is under way: the server goes on with it. Such a
 * build disappears from the server's view a moment before its index is valid, so this looks once more.
 */
async function toBuild(client: pg.Client, index: Index, options: BuildOptions): Promise<Part[]> {
  const { migrationTellMs, migrationPauseMs } = options.bounds;
  const isTold = throttle(migrationTellMs);
  for (let wasGrowing = false; ; ) {
    const parts = await missing(client, index, options);
    const isGrowing = parts.some((part) => part.isGrowing);
    if (!isGrowing && !wasGrowing) return parts;
    wasGrowing = isGrowing;
    if (isTold()) options.onWait();
    await pause(migrationPauseMs);
  }
}

/** The missing indexes of the table, or of each of its partitions. Leaves small tables to the migration. */
async function missing(
  client: pg.Client,
  { name, table, definition }: Index,
  { bounds: { briefIndexBytes } }: BuildOptions,
): Promise<Part[]> {
  const { rows } = await client.query(
    `SELECT t.table, t.index AS name, x.indexrelid IS NOT NULL AS is_broken,
       EXISTS (
         SELECT 1
         FROM pg_stat_progress_create_index
         WHERE datname = current_database() AND index_relid = x.indexrelid
       ) AS is_growing
     FROM (
       SELECT c.oid, c.relname AS table, replace($1, $2, c.relname) AS index
       FROM pg_class c
       WHERE c.relkind = 'r' AND (c.oid = to_regclass($2) OR c.oid IN (
         SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass($2)
       ))
     ) t
     LEFT JOIN pg_index x ON x.indexrelid = to_regclass(t.index)
     WHERE NOT x.indisvalid OR (x.indexrelid IS NULL AND pg_relation_size(t.oid) > $3)
     ORDER BY t.oid`,
    [name, table, briefIndexBytes],
  );
  return rows.map((row) => ({ ...toRecord<Omit<Part, 'definition'>>(row), definition }));
}

async function build(
  client: pg.Client,
  { name, table, definition, isBroken }: Part,
  told: (work: Promise<unknown>) => Promise<void>,
): Promise<void> {
  if (isBroken) await told(client.query(`DROP INDEX CONCURRENTLY ${name}`));
  await told(client.query(`CREATE INDEX CONCURRENTLY ${name} ON ${table} ${definition}`));
}

const WAITS = statement`SELECT 1 FROM pg_stat_progress_create_index WHERE datname = current_database() AND phase LIKE 'waiting%'`;

/**
 * Looks in a transaction of its own each time: one that lasts keeps what it has seen of other sessions, and a build that
 * meets one of its statements waits for its end.
 */
async function tellWaits(
  { read }: Pick<Database, 'read'>,
  work: Promise<unknown>,
  { onWait, bounds: { migrationTellMs } }: BuildOptions,
): Promise<void> {
  const over = new AbortController();
  const ended = work.finally(() => over.abort());
  // The caller gets the failure from `work`.
  ended.catch(() => {});
  for (;;) {
    await pause(migrationTellMs, undefined, { signal: over.signal }).catch(() => {});
    if (over.signal.aborted) break;
    // Without an answer it looks again later: only the build may fail.
    const rows = await read(WAITS).catch(() => []);
    if (rows.length > 0) onWait();
  }
  await ended;
}
