import type { ListOrder, PlantPage, Position } from '../plants/port.ts';

/** How the SQL of both stores orders the plants of one owner. */
export type OrderKind = 'id' | 'descending' | 'name' | 'nameDescending';

export function kindOf(order: ListOrder = 'id'): OrderKind {
  return typeof order === 'string' ? order : 'name';
}

const ORDER_BY = {
  id: 'id',
  descending: 'id DESC',
  name: 'folded, id',
  nameDescending: 'folded DESC, id DESC',
} as const;

type PlantsOf = {
  /** Besides the folded name. */
  columns: string;
  table: string;
  /** The owner and the bounds of a stretch. */
  stretch: Readonly<Record<'owner' | 'first' | 'last' | 'firstName' | 'lastName' | 'most', string>>;
  limit: string;
};

/** SQL for the first plants of a stretch, in order, with the folded name if it is part of a position. */
export function plantsOf(kind: OrderKind, { columns, table, stretch, limit }: PlantsOf): string {
  const { owner, first, last, firstName, lastName, most } = stretch;
  const isById = kind === 'id' || kind === 'descending';
  // It starts with the condition of the index `plants_by_name`.
  const isInside = isById
    ? `id BETWEEN ${first} AND ${last}`
    : `folded IS NOT NULL AND (folded, id) >= (${firstName}, ${first})
          AND (folded, id) <= (${lastName}, ${last}) AND id <= ${most}`;
  return `SELECT ${columns}, ${isById ? 'NULL' : 'folded'} AS folded
        FROM ${table}
        WHERE owner = ${owner} AND ${isInside}
        ORDER BY ${ORDER_BY[kind]}
        LIMIT ${limit}`;
}

export function eachKind<T>(of: (kind: OrderKind) => T): Record<OrderKind, T> {
  return {
    id: of('id'),
    descending: of('descending'),
    name: of('name'),
    nameDescending: of('nameDescending'),
  };
}

/** From a row with the id as text or bigint and, in a list by name, the folded name. */
export function positionOf(owner: number, { id, folded }: Record<string, unknown>): Position {
  const position = { owner, id: BigInt(String(id)) };
  return typeof folded === 'string' ? { ...position, name: folded } : position;
}

/** White space to JSON. Within a plant JSON escapes line breaks, so the last separator precedes the last plant. */
export const SEPARATOR = ',\n';

/** Plants of one owner, as JSON objects separated by `SEPARATOR`. */
export type PagePart = { json: string; count: number; last: Position };

/** @param parts one plant more than the limit, if there are more: it shows where the list continues */
export function pageOf(parts: readonly PagePart[], limit: number): PlantPage {
  const json = parts.map((part) => part.json).join(SEPARATOR);
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  if (count <= limit) return { json, count, next: undefined };
  return { json: json.slice(0, json.lastIndexOf(SEPARATOR)), count: limit, next: parts.at(-1)?.last };
}
