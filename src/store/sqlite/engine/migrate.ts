import type { DatabaseSync } from 'node:sqlite';
import { readMigrations, refuseOther } from '../../migrations.ts';

/** Applies missing migrations in one transaction. Refuses a newer store, and one whose applied migrations differ. */
export function migrate(db: DatabaseSync, now: number, before: () => void = () => {}): void {
  const known = readMigrations('sqlite');
  const store = `The store ${db.location()}`;
  // Without the write lock, so that opening a current store waits for nobody.
  if (schemaOf(db, known, store)?.applied === known.length) return;
  refuseOtherProgram(db);
  before();
  try {
    // A migration that rebuilds a table drops the old one; with foreign keys enforced, that would delete the rows that
    // refer to it. The setting cannot change within a transaction.
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
    const applied = schemaOf(db, known, store)?.applied;
    const insert = db.prepare('INSERT INTO migrations VALUES (?, ?, ?, ?)');
    for (const migration of known.slice(applied)) {
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
  if (any === undefined || hasColumn(db, 'migrations', 'checksum')) return;
  throw new Error(
    `${db.location()} is a database of another program: it has ${any.name}, but no plant store.`,
  );
}

/** The number of migrations applied to a store, and of those that exist. */
export type Schema = { applied: number; known: number };

/**
 * Reads the schema without the write lock. Undefined for a database without a plant store.
 * @throws Error as `migrate` does for a newer store or changed migrations
 */
export function schemaOf(
  db: DatabaseSync,
  known = readMigrations('sqlite'),
  store?: string,
): Schema | undefined {
  if (!hasColumn(db, 'migrations', 'checksum')) return undefined;
  const rows = db.prepare('SELECT version, checksum FROM migrations ORDER BY version').all();
  const applied = rows.map((row) => ({ version: Number(row.version), checksum: String(row.checksum) }));
  refuseOther(applied, known, store);
  return { applied: applied.length, known: known.length };
}

/** Of a column, because other programs have tables of the same names. */
export function hasColumn(db: DatabaseSync, table: string, column: string): boolean {
  return db.prepare('SELECT 1 FROM pragma_table_info(?) WHERE name = ?').get(table, column) !== undefined;
}
