import type { DatabaseSync } from 'node:sqlite';
import {
  type AppliedMigration,
  type Migration,
  newerStore,
  readMigrations,
  refuseChanged,
} from '../../migrations.ts';

const FOLDER = new URL('../migrations/', import.meta.url);

/**
 * Applies the numbered files that are missing, in order, in one transaction under the write lock.
 * Refuses a database that is newer than the program, and one whose applied files were changed.
 */
export function migrate(db: DatabaseSync, now: number, before: () => void = () => {}): void {
  const known = readMigrations(FOLDER);
  if (isCurrent(db, known)) return;
  refuseOtherProgram(db);
  before();
  try {
    // A file that rebuilds a table drops the old one; enforced, that deletes what refers to it. A transaction ignores this.
    db.exec('PRAGMA foreign_keys = OFF');
    db.exec('BEGIN IMMEDIATE');
    db.exec(
      `CREATE TABLE IF NOT EXISTS migrations (
         version    INTEGER PRIMARY KEY,
         name       TEXT NOT NULL,
         checksum   TEXT NOT NULL,
         applied_at INTEGER NOT NULL
       ) STRICT`,
    );
    const applied = appliedMigrations(db);
    refuseForeign(applied, known);
    const insert = db.prepare('INSERT INTO migrations VALUES (?, ?, ?, ?)');
    for (const migration of known.slice(applied.length)) {
      db.exec(migration.sql);
      insert.run(migration.version, migration.name, migration.checksum, now);
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  } finally {
    db.exec('PRAGMA foreign_keys = ON');
  }
}

function refuseOtherProgram(db: DatabaseSync): void {
  const [any] = db.prepare('SELECT name FROM sqlite_schema').all();
  const own = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`).get();
  if (any === undefined || own !== undefined) return;
  throw new Error(
    `${db.location()} is a database of another program: it has ${any.name}, and nothing of a plant store.`,
  );
}

/** Without the write lock, so that opening a current store waits for nobody. */
function isCurrent(db: DatabaseSync, known: Migration[]): boolean {
  return schemaOf(db, known)?.applied === known.length;
}

/** How many of the files were applied to a store, and how many there are. */
export type Schema = { applied: number; known: number };

/**
 * Without the write lock, and without changing anything. Undefined for a database that no plant store is in.
 *
 * @throws Error as `migrate` does, for one that is newer than the program, and one whose applied files were changed
 */
export function schemaOf(db: DatabaseSync, known = readMigrations(FOLDER)): Schema | undefined {
  const table = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`).get();
  if (!table) return undefined;
  const applied = appliedMigrations(db);
  refuseForeign(applied, known);
  return { applied: applied.length, known: known.length };
}

function appliedMigrations(db: DatabaseSync): AppliedMigration[] {
  const rows = db.prepare('SELECT version, checksum FROM migrations ORDER BY version').all();
  return rows.map((row) => ({ version: Number(row.version), checksum: String(row.checksum) }));
}

function refuseForeign(applied: AppliedMigration[], known: Migration[]): void {
  refuseChanged(applied, known);
  const newest = applied.at(-1)?.version ?? 0;
  if (newest > known.length) throw newerStore(newest, known);
}
