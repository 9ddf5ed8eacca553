import { foldName } from '../../../plants/plant.ts';
import type { PageQuery, PlantPage } from '../../../plants/port.ts';
import { type EndReads, filled } from '../../list-end.ts';
import { eachKind, kindOf, type PagePart, pageOf, positionOf } from '../../plant-orders.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { type Database, type Query, statement } from '../engine/database.ts';
import { inputOf, LAST, plantsIn, type ReadPart, STRETCHES } from './page-reads.ts';

/** Reads one owner at a time: most viewers see only their own plants, and a page rarely spans three owners. */
export function plantPages(readPart: ReadPart, ends: EndReads) {
  return async (query: PageQuery): Promise<PlantPage> => {
    const { viewer, order, limit, fields } = query;
    const parts: PagePart[] = [];
    let wanted = limit + 1;
    const kind = kindOf(order);
    for await (const stretch of filled(ends, await ends.stretches(viewer, query), kind)) {
      const part = await readPart(stretch, wanted, kind, fields);
      if (!part) continue;
      parts.push(part);
      wanted -= part.count;
      if (wanted === 0) break;
    }
    return pageOf(parts, limit);
  };
}

/** Ordered like the partial index: with statistics from when most were NULL, the server might scan the table. */
export const FIRST_UNFOLDED = 'SELECT owner FROM plants WHERE folded IS NULL ORDER BY owner, id LIMIT 1';

export const SOME_UNFOLDED = statement`SELECT owner, id::text AS id, name
  FROM plants
  WHERE folded IS NULL
  ORDER BY owner, id
  LIMIT $1`;

const FILL = statement`SELECT fold_plants($1)`;

/** Fills some of the folded names that are missing from plants of an older version, or of its replicas. */
export async function nameFolding({ limit }: { limit: number }, query: Query): Promise<boolean> {
  const rows = await query(SOME_UNFOLDED, [limit]);
  if (rows.length === 0) return false;
  const names = rows.map((row) => ({ ...row, folded: foldName(String(row.name)) }));
  await query(FILL, [JSON.stringify(names)]);
  return true;
}

/** Ordered like the partial index, as `FIRST_UNFOLDED`. */
const UNFOLDED = statement`SELECT 1
  FROM unnest($1::int8[]) AS o(owner)
  CROSS JOIN LATERAL (
    SELECT 1
    FROM plants
    WHERE owner = o.owner AND folded IS NULL
    ORDER BY id
    LIMIT 1
  ) p
  LIMIT 1`;

/** Whether every plant that a viewer may read has its folded name (`PlantStore.hasNames`). */
export function namesCheck({ read }: Pick<Database, 'read'>, visible: VisibleOwners) {
  return async (viewer: number): Promise<boolean> =>
    (await read(UNFOLDED, [await visible.of(viewer)])).length === 0;
}

const COUNT = eachKind(
  (kind) =>
    statement`SELECT q.owner, p.*
    FROM ${STRETCHES}
    CROSS JOIN LATERAL (
      SELECT count(*) AS count, ${LAST[kind]}
      FROM (
        ${plantsIn(kind, 'id')}
      ) rows
    ) p
    WHERE p.count > 0
    ORDER BY q.n`,
);

export function endReads({ read }: Pick<Database, 'read'>, visible: VisibleOwners): EndReads {
  return {
    stretches: visible.stretches,
    async count(stretches, kind, most) {
      const input = stretches.map((stretch, n) => inputOf(stretch, n, most));
      const rows = await read(COUNT[kind], [JSON.stringify(input)]);
      return rows.map((row) => ({ count: Number(row.count), last: positionOf(Number(row.owner), row) }));
    },
    // The server counts, while this thread proceeds.
    async pause() {},
  };
}
