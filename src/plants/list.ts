import { list as limits } from '../limits.ts';
import type { PlantField, PlantPage, PlantStore, Position } from './port.ts';

export type ListRequest = {
  viewer: number;
  from: Position | undefined;
  limit: number | undefined;
  fields: readonly PlantField[];
  /** Reads the next part when it is its turn: whoever takes everything at once would keep all others waiting. */
  inTurn: InTurn;
};

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export type PlantList = {
  /** Where the list goes on behind this one; undefined when it does not. */
  next: Position | undefined;
  /** A JSON array; in parts when it is long, each read from the store when it is asked for. */
  json: string | AsyncIterable<string>;
};

/**
 * The plants that the viewer has access to. A long list is read part by part, with nothing held open between
 * two parts: each plant that exists all the while is in it exactly once, others at most once.
 */
export function listPlants(store: PlantStore, request: ListRequest): Promise<PlantList> {
  const { viewer, from, limit, fields } = request;
  if (limit === undefined || limit > limits.firstPlants) return longList(store, request);
  return store
    .page({ viewer, from, through: undefined, limit, fields })
    .then(({ json, next }) => ({ next, json: `[${json}]` }));
}

async function longList(store: PlantStore, request: ListRequest): Promise<PlantList> {
  const { viewer, from, limit, fields, inTurn } = request;
  // The end is settled first: a list that plants are added to all the time ends too.
  const { last, next, ends } = await store.end({ viewer, from, count: limit });
  if (!last) return { next: undefined, json: '[]' };
  const read = (at: Position | undefined, count: number) =>
    store.page({ viewer, from: at, through: last, ends, limit: count, fields });
  // The first part is read before the answer begins, so that a failing store can still be answered with.
  const first = await read(from, limits.firstPlants);
  if (!first.next) return { next, json: `[${first.json}]` };
  const readInTurn: typeof read = (at, count) => inTurn(() => read(at, count));
  return { next, json: parts(first, readInTurn, limit ?? Infinity) };
}

async function* parts(
  first: PlantPage,
  read: (at: Position, count: number) => Promise<PlantPage>,
  limit: number,
): AsyncIterable<string> {
  yield `[${first.json}`;
  let page = first;
  let count = page.count;
  while (page.next) {
    page = await read(page.next, partAfter(page));
    if (page.json === '') break;
    count += page.count;
    // More than were counted: the client must not take what it has for the list that it asked for.
    if (count > limit) throw new Error('plants were added in the middle of a list with a limit');
    yield `,\n${page.json}`;
  }
  yield ']';
}

/** How many plants the part behind this one holds: plants may be 30 bytes or 3 000. */
function partAfter({ json, count }: PlantPage): number {
  const each = Math.max(1, json.length / Math.max(1, count));
  return Math.min(limits.partPlants, Math.ceil(limits.partBytes / each));
}
