import type { PageQuery, PlantPage, Position } from '../../../plants/port.ts';
import type { EndReads } from '../../list-end.ts';
import { kindOf, ORDER_BY, type OrderKind, PLACE_NAME, REVERSED } from '../../plant-orders.ts';
import type { Stretch } from '../../visible-owners.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { Database, Statement } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';
import { IN_STRETCH, inputOf, LAST, positionOf, type ReadPart, SEPARATOR, STRETCHES } from './page-reads.ts';

/** Reads one owner at a time: most viewers see only their own plants, and a page rarely spans three owners. */
export function plantPages(readPart: ReadPart, visible: VisibleOwners) {
  return async (query: PageQuery): Promise<PlantPage> => {
    const { viewer, limit, fields } = query;
    const parts: string[] = [];
    let left = limit;
    for (const stretch of await visible.stretches(viewer, query)) {
      // One more than requested shows whether, and where, the list continues.
      const part = await readPart(stretch, left + 1, kindOf(query.order), fields);
      if (!part) continue;
      const { json, count, last } = part;
      if (count > left) {
        if (left > 0) parts.push(json.slice(0, json.lastIndexOf(SEPARATOR)));
        return { json: parts.join(SEPARATOR), count: limit, next: last };
      }
      parts.push(json);
      left -= count;
    }
    return { json: parts.join(SEPARATOR), count: limit - left, next: undefined };
  };
}

/** Ordered like the partial index; `name-folding.ts` says why. */
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

/** The first plant of each stretch, in order: rows with the number of the stretch and the position. */
const first = (kind: OrderKind) =>
  statement`SELECT q.n, p.id::text AS id, p.name
    FROM ${STRETCHES}
    CROSS JOIN LATERAL (
      SELECT id, ${PLACE_NAME[kind]} AS name
      FROM plants
      WHERE ${IN_STRETCH(kind)}
      ORDER BY ${ORDER_BY[kind]}
      LIMIT 1
    ) p
    ORDER BY q.n`;

const counted = (kind: OrderKind) =>
  statement`SELECT p.*
    FROM ${STRETCHES}
    CROSS JOIN LATERAL (
      SELECT count(*) AS count, ${LAST[kind]}
      FROM (
        SELECT id, ${PLACE_NAME[kind]} AS folded
        FROM plants
        WHERE ${IN_STRETCH(kind)}
        ORDER BY ${ORDER_BY[kind]}
        LIMIT q.count
      ) rows
    ) p`;

const statementsOf = (kind: OrderKind) => ({ first: first(kind), counted: counted(kind) });
const STATEMENTS = {
  id: statementsOf('id'),
  descending: statementsOf('descending'),
  name: statementsOf('name'),
  nameDescending: statementsOf('nameDescending'),
};

export function endReads({ read }: Pick<Database, 'read'>, visible: VisibleOwners): EndReads {
  async function endsOf(stretches: readonly Stretch[], statement: Statement): Promise<Position[]> {
    const rows = await read(statement, [JSON.stringify(stretches.map(inputOf))]);
    return rows.flatMap((row) => {
      const owner = stretches[Number(row.n)]?.owner;
      return owner === undefined ? [] : [positionOf(owner, row)];
    });
  }

  return {
    stretches: visible.stretches,
    highestOfEach: (stretches) => endsOf(stretches, STATEMENTS.descending.first),
    last: async (stretches, kind) => (await endsOf(stretches, STATEMENTS[REVERSED[kind]].first)).at(-1),
    first: async (stretches, kind) => (await endsOf(stretches, STATEMENTS[kind].first))[0],
    async count(stretch, kind, most) {
      const input = JSON.stringify([{ ...inputOf(stretch, 0), count: most }]);
      const [row] = await read(STATEMENTS[kind].counted, [input]);
      if (typeof row?.id !== 'string') return undefined;
      return { count: Number(row.count), last: positionOf(stretch.owner, row) };
    },
    // The server counts, while this thread proceeds.
    async pause() {},
  };
}
