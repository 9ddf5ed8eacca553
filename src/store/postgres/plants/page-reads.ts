import { database as limits } from '../../../limits.ts';
import type { PlantId } from '../../../plants/plant.ts';
import type { PlantField } from '../../../plants/port.ts';
import type { Stretch } from '../../visible-owners.ts';
import type { Database, Row, Statement } from '../engine/database.ts';
import { statementOf } from '../engine/statement.ts';

/** Plants of one owner, as JSON objects separated by `SEPARATOR`. */
type PagePart = { json: string; count: number; last: PlantId };

/** Reads the first plants of a stretch; undefined if it is empty. */
export type ReadPart = (
  stretch: Stretch,
  limit: number,
  fields: readonly PlantField[],
) => Promise<PagePart | undefined>;

/** White space to JSON. Within a plant JSON escapes line breaks, so the last separator precedes the last plant. */
export const SEPARATOR = ',\n';

type Asked = {
  stretch: Stretch;
  limit: number;
  resolve(part: PagePart | undefined): void;
  reject(error: unknown): void;
};

/** Reads requested while others are in progress share one statement: a statement costs far more than its reads. */
export function pageReads({ read }: Pick<Database, 'read'>, atOnce: number): ReadPart {
  const queues = new Map<string, ReadPart>();
  return (stretch, limit, fields) => {
    const key = fields.join();
    let queue = queues.get(key);
    if (!queue) {
      queue = queued(read, statementOf(pageSql(fields)), atOnce);
      queues.set(key, queue);
    }
    return queue(stretch, limit, fields);
  };
}

function queued(read: Database['read'], statement: Statement, atOnce: number): ReadPart {
  const waiting: Asked[] = [];
  let underWay = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    // After the other requests of this turn of the event loop.
    setImmediate(() => {
      scheduled = false;
      while (waiting.length > 0 && underWay < atOnce) void send(waiting.splice(0, limits.readTogether));
    });
  }

  async function send(asked: Asked[]): Promise<void> {
    underWay++;
    try {
      const input = asked.map(({ stretch: { owner, first, last }, limit }, n) => ({
        n,
        owner,
        first: `${first}`,
        last: `${last}`,
        count: limit,
      }));
      const rows = await read(statement, [JSON.stringify(input)]);
      const parts = new Map(rows.map((row) => [Number(row.n), partOf(row)]));
      asked.forEach(({ resolve }, n) => {
        resolve(parts.get(n));
      });
    } catch (error) {
      for (const { reject } of asked) reject(error);
    } finally {
      underWay--;
      if (waiting.length > 0) schedule();
    }
  }

  return (stretch, limit) => {
    schedule();
    return new Promise((resolve, reject) => waiting.push({ stretch, limit, resolve, reject }));
  };
}

function partOf(row: Row): PagePart | undefined {
  if (row.json === null) return undefined;
  return { json: String(row.json), count: Number(row.count), last: BigInt(String(row.last)) };
}

/**
 * JSON built by the server, with the members of `plantJson`: rows would cost far more here. An aggregate keeps the
 * order of its subquery (https://www.postgresql.org/docs/current/functions-aggregate.html).
 */
export function pageSql(fields: readonly PlantField[]): string {
  const members = (names: readonly PlantField[]) =>
    names.map((field) => `'"${field}":' || ${MEMBER[field]}`).join(` || ',' || `);
  const whole = `'{' || ${members(fields)} || '}'`;
  const withoutTag = fields.filter((field) => field !== 'tag');
  const object = fields.includes('tag')
    ? `CASE WHEN tag IS NULL THEN '{' || ${members(withoutTag) || `''`} || '}' ELSE ${whole} END`
    : whole;
  return `SELECT q.n, p.json, p.count, p.last
    FROM json_to_recordset($1) AS q(n int, owner int8, first int8, last int8, count int8)
    CROSS JOIN LATERAL (
      SELECT string_agg(${object}, '${SEPARATOR}') AS json, count(*) AS count, max(id)::text AS last
      FROM (
        SELECT owner, id, name, tag
        FROM plants
        WHERE owner = q.owner AND id BETWEEN q.first AND q.last
        ORDER BY id
        LIMIT q.count
      ) rows
    ) p`;
}

const MEMBER: Record<PlantField, string> = {
  id: 'id',
  name: 'to_json(name)',
  tag: 'to_json(tag)',
  owner: '(SELECT to_json(u.name) FROM users u WHERE u.id = owner)',
};
