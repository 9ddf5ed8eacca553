import { foldName } from '../../../plants/plant.ts';
import { type Query, statement } from '../engine/database.ts';

/** Ordered like the partial index: with statistics from when most were NULL, the server might scan the table. */
export const FIRST_UNFOLDED = 'SELECT owner FROM plants WHERE folded IS NULL ORDER BY owner, id LIMIT 1';

export const LACKING = statement`SELECT owner, id::text AS id, name
  FROM plants
  WHERE folded IS NULL
  ORDER BY owner, id
  LIMIT $1`;

const FILL = statement`SELECT fold_plants($1)`;

/** Fills some of the folded names that are missing from plants of an older version, or of its replicas. */
export async function nameFolding({ limit }: { limit: number }, query: Query): Promise<boolean> {
  const rows = await query(LACKING, [limit]);
  if (rows.length === 0) return false;
  const names = rows.map((row) => ({ ...row, folded: foldName(String(row.name)) }));
  await query(FILL, [JSON.stringify(names)]);
  return true;
}
