import type { ListOrder } from '../plants/port.ts';

/** How the SQL of both stores orders the plants of one owner. */
export type OrderKind = 'id' | 'descending' | 'name' | 'nameDescending';

export function kindOf(order: ListOrder = 'id'): OrderKind {
  return typeof order === 'string' ? order : 'name';
}

export const ORDER_BY = {
  id: 'id',
  descending: 'id DESC',
  name: 'folded, id',
  nameDescending: 'folded DESC, id DESC',
} as const;

export const REVERSED = {
  id: 'descending',
  descending: 'id',
  name: 'nameDescending',
  nameDescending: 'name',
} as const;

/** The folded name, if it is part of a position. */
export const PLACE_NAME = {
  id: 'NULL',
  descending: 'NULL',
  name: 'folded',
  nameDescending: 'folded',
} as const;

type Bound = 'first' | 'last' | 'firstName' | 'lastName' | 'most';

/** SQL condition: the plants of a stretch, whose bounds are SQL. It starts with the condition of the index `plants_by_name`. */
export function inStretch(
  kind: OrderKind,
  { first, last, ...names }: Readonly<Record<Bound, string>>,
): string {
  if (kind === 'id' || kind === 'descending') return `id BETWEEN ${first} AND ${last}`;
  return `folded IS NOT NULL AND (folded, id) >= (${names.firstName}, ${first})
        AND (folded, id) <= (${names.lastName}, ${last}) AND id <= ${names.most}`;
}
