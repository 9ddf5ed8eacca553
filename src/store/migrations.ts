import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** A numbered file that migrates a store to the next version. It never changes after its release. */
export type Migration = { version: number; name: string; sql: string; checksum: string };

/** `compatibleFrom`: the version of the oldest program that understands it; absent if that is its own. */
export type AppliedMigration = { version: number; checksum: string; compatibleFrom?: number };

/** Reads all migrations of a store, in order. */
export function readMigrations(store: 'postgres' | 'sqlite'): Migration[] {
  const folder = new URL(`./${store}/migrations/`, import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return names.sort().map((name, i) => {
    const sql = readFileSync(new URL(name, folder), 'utf8');
    return { version: i + 1, name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}

/**
 * Throws if an applied migration differs from the program's, or excludes this program.
 * @param store how messages begin
 */
export function refuseOther(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
  store = 'The store',
): void {
  for (const { version, checksum, compatibleFrom = version } of applied) {
    const migration = known[version - 1];
    if (migration && migration.checksum !== checksum) {
      throw new Error(`Migration ${migration.name} differs from the one applied to this store`);
    }
    if (compatibleFrom <= known.length) continue;
    throw new Error(
      `${store} was created by a newer version of plant-store (schema ${version}, this program knows up to ${known.length}); start that version instead`,
    );
  }
}
