import { list as limits } from '../../../limits.ts';
import { MAX_ID, type PlantId } from '../../../plants/plant.ts';
import type { EndQuery, Ends, ListEnd, PageQuery, PlantPage, Position } from '../../../plants/port.ts';
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

const STEP = statement`SELECT count(*) AS count, max(id)::text AS id
  FROM (
    SELECT id
    FROM plants
    WHERE owner = $1 AND id BETWEEN $2 AND $3
    ORDER BY id
    LIMIT $4
  ) ids`;

/** Where lists end (`PlantStore.end`). */
export function listEnd({ read }: Pick<Database, 'read'>, visible: VisibleOwners) {
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

  /** Counts from a position; returns where the count ends, and how many are left to count. */
  async function countOn(viewer: number, bounds: { from: Position | undefined; ends: Ends }, wanted: number) {
    let last: Position | undefined;
    let left = wanted;
    for (const { owner, first, last: end } of await visible.stretches(viewer, bounds)) {
      const [row] = await read(STEP, [owner, `${first}`, `${end}`, left]);
      if (typeof row?.id !== 'string') continue;
      last = { owner, id: BigInt(row.id) };
      left -= Number(row.count);
      if (left === 0) break;
    }
    return { last, left };
  }

  async function following(viewer: number, { owner, id }: Position): Promise<Position | undefined> {
    const stretches = await visible.stretches(viewer, { from: { owner, id } });
    const behind = stretches.flatMap((stretch, i) =>
      i === 0 && stretch.owner === owner ? after(stretch, id) : stretch,
    );
    return (await endsOf(behind, LOWEST))[0];
  }

  return async ({ viewer, from, count }: EndQuery): Promise<ListEnd> => {
    const found = await endsOf(await visible.stretches(viewer, { from }), HIGHEST);
    if (count === undefined) return { last: found.at(-1), next: undefined, ends: undefined };
    const ends: Ends = new Map(found.map(({ owner, id }) => [owner, id]));
    let last: Position | undefined;
    let next = from;
    for (let left = count; left > 0; left -= limits.countedPlants) {
      const counted = await countOn(viewer, { from: next, ends }, Math.min(left, limits.countedPlants));
      last = counted.last ?? last;
      if (counted.left > 0 || last === undefined) return { last, next: undefined, ends };
      next = await following(viewer, last);
      if (next === undefined) break;
    }
    return { last, next, ends };
  };
}

function after(stretch: Stretch, id: PlantId): Stretch[] {
  return id === MAX_ID ? [] : [{ ...stretch, first: id + 1n }];
}
