import { DatabaseSync } from 'node:sqlite';
import { storePath } from '../../src/config/config.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import type { Service } from '../../testkit/service/service.ts';

/** Every row of every table of a store, as text. */
export type Rows = ReadonlySet<string>;

/** Reads a whole store while the service uses it. */
export function readRows(dataDir: string): Rows {
  const db = new DatabaseSync(storePath(dataDir), { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return new Set(tables.flatMap(({ name }) => rowsOf(db, String(name))));
  } finally {
    db.close();
  }
}

/** Rows that were removed or changed. */
export function removed(before: Rows, after: Rows): string[] {
  return [...before.difference(after)];
}

/** Rows that were removed, changed or added. */
export function changed(before: Rows, after: Rows): string[] {
  return [...before.symmetricDifference(after)];
}

/** Resolves once no chores are left, so that only requests change rows. */
export async function untilChoresAreDone(service: Service): Promise<void> {
  await eventually('end of the chores', () =>
    service.beside(async ({ store, runtime }) =>
      (await store.chores.hasChores(runtime.clock.now())) ? undefined : true,
    ),
  );
}

function rowsOf(db: DatabaseSync, table: string): string[] {
  const statement = db.prepare(`SELECT * FROM "${table}"`);
  statement.setReadBigInts(true);
  // The day of a token's last use is written some time after the request.
  return statement.all().map(({ last_used_on: _, ...row }) => `${table} ${JSON.stringify(row, asText)}`);
}

function asText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}
