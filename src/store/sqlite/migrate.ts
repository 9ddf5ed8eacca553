import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

const FOLDER = new URL('./migrations/', import.meta.url);

type Migration = { version: number; name: string; sql: string; checksum: string };

/**
 * Applies the numbered files that are missing, in order, in one transaction under the write lock.
 * Refuses a database that is newer than the program, and one whose applied files were changed.
 */
export function migrate(db: DatabaseSync, now: number, before: () => void = () => {}): void {
  const known = readMigrations();
  if (isCurrent(db, known)) return;
  before();
  db.exec('BEGIN IMMEDIATE');
  try {
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
  }
}

/** Without the write lock, so that opening a current store waits for nobody. */
function isCurrent(db: DatabaseSync, known: Migration[]): boolean {
  const table = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`).get();
  if (!table) return false;
  const applied = appliedMigrations(db);
  refuseForeign(applied, known);
  return applied.length === known.length;
}

function appliedMigrations(db: DatabaseSync): { version: number; checksum: string }[] {
  const rows = db.prepare('SELECT version, checksum FROM migrations ORDER BY version').all();
  return rows.map((row) => ({ version: Number(row.version), checksum: String(row.checksum) }));
}

function refuseForeign(applied: { version: number; checksum: string }[], known: Migration[]): void {
  for (const { version, checksum } of applied) {
    const migration = known[version - 1];
    if (!migration) {
      throw new Error(
        `The store was made by a newer version of plant-store (schema ${version}, this program knows up to ${known.length}); start that version instead`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new Error(`Migration ${migration.name} is not the one that was applied to this store`);
    }
  }
}

function readMigrations(): Migration[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.sql'));
  return names.sort().map((name, i) => {
    const sql = readFileSync(new URL(name, FOLDER), 'utf8');
    return { version: i + 1, name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}
