import type { DatabaseSync } from 'node:sqlite';
import { foldName } from '../../../plants/plant.ts';
import { BIGINTS } from './plant-ids.ts';

export const ANY_UNFOLDED = 'SELECT 1 FROM plants INDEXED BY plants_unfolded WHERE folded IS NULL';

/** Fills some of the folded names that are missing from plants of an older version. */
export function nameFolding(db: DatabaseSync): (limit: number) => void {
  const lacking = db.prepare(
    `SELECT owner, id, name
     FROM plants INDEXED BY plants_unfolded
     WHERE folded IS NULL
     ORDER BY owner, id
     LIMIT CAST(? AS INTEGER)`,
    BIGINTS,
  );
  const fill = db.prepare('UPDATE plants SET folded = ? WHERE owner = ? AND id = ?');
  return (limit) => {
    for (const { owner, id, name } of lacking.all(limit)) {
      fill.run(foldName(String(name)), owner ?? null, id ?? null);
    }
  };
}
