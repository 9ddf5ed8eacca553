import type { PageQuery, PlantPage, Position } from '../../../plants/port.ts';
import type { EndReads } from '../../list-end.ts';
import type { Stretch } from '../../visible-owners.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { Database, Statement } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';
import { type ReadPart, SEPARATOR } from './page-reads.ts';

/** Reads one owner at a time: most viewers see only their own plants, and a page rarely spans three owners. */
export function plantPages(readPart: ReadPart, visible: VisibleOwners) {
  return async (query: PageQuery): Promise<PlantPage> => {
    const { viewer, limit, fields } = query;
    const parts: string[] = [];
    let left = limit;
    for (const stretch of await visible.stretches(viewer, query)) {
      // One more than requested shows whether, and where, the list continues.
      const part = await readPart(stretch, left + 1, fields);
      if (!part) continue;
      const { json, count, last } = part;
      if (count > left) {
        if (left > 0) parts.push(json.slice(0, json.lastIndexOf(SEPARATOR)));
        return { json: parts.join(SEPARATOR), count: limit, next: { owner: stretch.owner, id: last } };
      }
      parts.push(json);
      left -= count;
    }
    return { json: parts.join(SEPARATOR), count: limit - left, next: undefined };
  };
}

/** The ends of the stretches, in order: rows with the number of the stretch and the id as text. */
const ends = (end: 'min' | 'max') =>
  statement`SELECT q.n, (
      SELECT ${end}(id) FROM plants WHERE owner = q.owner AND id BETWEEN q.first AND q.last
    )::text AS id
    FROM json_to_recordset($1) AS q(n int, owner int8, first int8, last int8)
    ORDER BY q.n`;
const HIGHEST = ends('max');
const LOWEST = ends('min');

const COUNT = statement`SELECT count(*) AS count, max(id)::text AS id
  FROM (
    SELECT id
    FROM plants
    WHERE owner = $1 AND id BETWEEN $2 AND $3
    ORDER BY id
    LIMIT $4
  ) ids`;

export function endReads({ read }: Pick<Database, 'read'>, visible: VisibleOwners): EndReads {
  async function endsOf(stretches: readonly Stretch[], statement: Statement): Promise<Position[]> {
    const input = stretches.map(({ owner, first, last }, n) => ({
      n,
      owner,
      first: `${first}`,
      last: `${last}`,
    }));
    const rows = await read(statement, [JSON.stringify(input)]);
    return rows.flatMap(({ n, id }) => {
      const owner = stretches[Number(n)]?.owner;
      return owner === undefined || id === null ? [] : [{ owner, id: BigInt(String(id)) }];
    });
  }

  return {
    stretches: visible.stretches,
    lastOfEach: (stretches) => endsOf(stretches, HIGHEST),
    last: async (stretches) => (await endsOf(stretches, HIGHEST)).at(-1),
    first: async (stretches) => (await endsOf(stretches, LOWEST))[0],
    async count({ owner, first, last }, most) {
      const [row] = await read(COUNT, [owner, `${first}`, `${last}`, most]);
      if (typeof row?.id !== 'string') return undefined;
      return { count: Number(row.count), last: { owner, id: BigInt(row.id) } };
    },
    // The server counts, while this thread proceeds.
    async pause() {},
  };
}
