import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** A numbered file that brings a store's schema from one version to the next. Once released, it is never changed. */
export type Migration = { version: number; name: string; sql: string; checksum: string };

export type AppliedMigration = { version: number; checksum: string };

/** The files of a folder, in order. */
export function readMigrations(folder: URL): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return names.sort().map((name, i) => {
    const sql = readFileSync(new URL(name, folder), 'utf8');
    return { version: i + 1, name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}

/** Throws when a file that was applied to the store is not the one that the program has. */
export function refuseChanged(applied: readonly AppliedMigration[], known: readonly Migration[]): void {
  for (const { version, checksum } of applied) {
    const migration = known[version - 1];
    if (migration && migration.checksum !== checksum) {
      throw new Error(`Migration ${migration.name} is not the one that was applied to this store`);
    }
  }
}

export function newerStore(version: number, known: readonly Migration[]): Error {
  return new Error(
    `The store was made by a newer version of plant-store (schema ${version}, this program knows up to ${known.length}); start that version instead`,
  );
}
