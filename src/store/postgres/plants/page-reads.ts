import { database as limits } from '../../../limits.ts';
import type { PlantField } from '../../../plants/port.ts';
import { type OrderKind, type PagePart, plantsOf, positionOf, SEPARATOR } from '../../plant-orders.ts';
import type { Stretch } from '../../visible-owners.ts';
import { type Database, type Row, type Statement, statement } from '../engine/database.ts';

/** Reads the first plants of a stretch; undefined if it is empty. */
export type ReadPart = (
  stretch: Stretch,
  limit: number,
  kind: OrderKind,
  fields: readonly PlantField[],
) => Promise<PagePart | undefined>;

type Asked = {
  stretch: Stretch;
  limit: number;
  resolve(part: PagePart | undefined): void;
  reject(error: unknown): void;
};

/** Reads requested while others are in progress share one statement: a statement costs far more than its reads. */
export function pageReads({ read }: Pick<Database, 'read'>, atOnce: number): ReadPart {
  const queues = new Map<string, ReadPart>();
  return (stretch, limit, kind, fields) => {
    const queue = queues.getOrInsertComputed(`${kind} ${fields.join()}`, () =>
      queued(read, statement`${pageSql(kind, fields)}`, atOnce),
    );
    return queue(stretch, limit, kind, fields);
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
      const input = asked.map(({ stretch, limit }, n) => inputOf(stretch, n, limit));
      const rows = await read(statement, [JSON.stringify(input)]);
      const found = new Map(rows.map((row) => [Number(row.n), row]));
      asked.forEach(({ stretch, resolve }, n) => {
        resolve(partOf(stretch.owner, found.get(n)));
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

function partOf(owner: number, row: Row | undefined): PagePart | undefined {
  if (row === undefined || row.json === null) return undefined;
  return { json: String(row.json), count: Number(row.count), last: positionOf(owner, row) };
}

/** A stretch as an element of the array that `STRETCHES` reads. */
export function inputOf({ owner, first, last, names }: Stretch, n: number, count: number) {
  const input = { n, count, owner, first: `${first}`, last: `${last}` };
  if (!names) return input;
  return { ...input, first_name: names.first, last_name: names.last, most: `${names.most}` };
}

/** SQL: the stretches in the JSON array `$1`, as `q`. */
export const STRETCHES = `json_to_recordset($1) AS q(
      n int, owner int8, first int8, last int8, first_name text, last_name text, most int8, count int8
    )`;

const STRETCH = {
  owner: 'q.owner',
  first: 'q.first',
  last: 'q.last',
  firstName: 'q.first_name',
  lastName: 'q.last_name',
  most: 'q.most',
} as const;

/** SQL: the first `q.count` plants of the stretch `q`. */
export function plantsIn(kind: OrderKind, columns: string): string {
  return plantsOf(kind, { columns, table: 'plants', stretch: STRETCH, limit: 'q.count' });
}

/** The position of the last row. */
export const LAST = {
  id: 'max(id)::text AS id, NULL AS folded',
  descending: 'min(id)::text AS id, NULL AS folded',
  name: '(array_agg(id))[count(*)]::text AS id, max(folded) AS folded',
  nameDescending: '(array_agg(id))[count(*)]::text AS id, min(folded) AS folded',
} as const;

/**
 * JSON built by the server, with the members of `plantJson`: rows would cost far more here. An aggregate keeps the
 * order of its subquery (https://www.postgresql.org/docs/current/functions-aggregate.html).
 */
export function pageSql(kind: OrderKind, fields: readonly PlantField[]): string {
  const members = (names: readonly PlantField[]) =>
    names.map((field) => `'"${field}":' || ${MEMBER[field]}`).join(` || ',' || `);
  const whole = `'{' || ${members(fields)} || '}'`;
  const withoutTag = fields.filter((field) => field !== 'tag');
  const object = fields.includes('tag')
    ? `CASE WHEN tag IS NULL THEN '{' || ${members(withoutTag) || `''`} || '}' ELSE ${whole} END`
    : whole;
  return `SELECT q.n, p.json, p.count, p.id, p.folded
    FROM ${STRETCHES}
    CROSS JOIN LATERAL (
      SELECT string_agg(${object}, '${SEPARATOR}') AS json, count(*) AS count, ${LAST[kind]}
      FROM (
        ${plantsIn(kind, 'owner, id, name, tag')}
      ) rows
    ) p`;
}

const MEMBER: Record<PlantField, string> = {
  id: 'id',
  name: 'to_json(name)',
  tag: 'to_json(tag)',
  owner: '(SELECT to_json(u.name) FROM users u WHERE u.id = owner)',
};
