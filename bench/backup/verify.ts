import { DatabaseSync } from 'node:sqlite';
import { verifyStore } from '../../src/store/sqlite/files/inspect.ts';

/** What is known of a backup's creates. */
export type Expected = {
  /** Plants that were in the store before. */
  filled: number;
  /** How many of each client were acknowledged when the backup began. */
  before: readonly number[];
  /** All that were acknowledged in the end, by client, in their order. */
  acknowledged: readonly (readonly string[])[];
};

/** What is wrong with a store that was restored; nothing when it holds what it must. */
export function violationsIn(path: string, { filled, before, acknowledged }: Expected): string[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const found = verifyStore(db);
    const { plants, last } = db.prepare('SELECT count(*) AS plants, max(id) AS last FROM plants').get() ?? {};
    // The service gives ids in the order of commits, so a commit that is missing between others leaves a gap.
    if (plants !== last) found.push(`${plants} plants, but the last id is ${last}`);
    const rows = db.prepare('SELECT name FROM plants WHERE id > ?').all(filled);
    const names = new Set(rows.map(({ name }) => String(name)));
    for (const [client, own] of acknowledged.entries()) {
      const missing = own.findIndex((name) => !names.has(name));
      const held = missing === -1 ? own.length : missing;
      if (held < (before[client] ?? 0)) found.push(`lost, though acknowledged before it began: ${own[held]}`);
      const behind = own.slice(held).find((name) => names.has(name));
      if (behind !== undefined) found.push(`${behind} is there without ${own[held]}, which came before it`);
    }
    return found;
  } finally {
    db.close();
  }
}
