import { list as limits } from '../limits.ts';
import type { PlantField, PlantPage, PlantStore, Position } from './port.ts';

export type ListRequest = {
  viewer: number;
  from: Position | undefined;
  limit: number | undefined;
  fields: readonly PlantField[];
};

export type PlantList = {
  /** Where the list goes on behind this one; undefined when it does not. */
  next: Position | undefined;
  /** A JSON array; in parts when it is long. */
  json: string | NextPart;
};

/**
 * Reads the next part of a list from the store: text of `partBytes` at most. To be called until it gives the last one.
 * Between two calls only a position is kept.
 */
export type NextPart = () => Promise<{ text: string; isLast: boolean }>;

/**
 * The plants that the viewer has access to. A long list is read part by part, with nothing held open between
 * two parts: each plant that exists all the while is in it exactly once, others at most once.
 */
export async function listPlants(store: PlantStore, request: ListRequest): Promise<PlantList> {
  const { viewer, from, limit, fields } = request;
  if (limit === undefined || limit > limits.firstPlants) return longList(store, request);
  const { json, next } = await store.page({ viewer, from, through: undefined, limit, fields });
  return isLong(json) ? longList(store, request) : { next, json: `[${json}]` };
}

async function longList(store: PlantStore, request: ListRequest): Promise<PlantList> {
  const { viewer, from, limit, fields } = request;
  // The end is settled first: a list that plants are added to all the time ends too.
  const { last, next, ends } = await store.end({ viewer, from, count: limit });
  if (!last) return { next: undefined, json: '[]' };
  const read = async (at: Position | undefined, count: number): Promise<PlantPage> => {
    const page = await store.page({ viewer, from: at, through: last, ends, limit: count, fields });
    // Plants may be a hundred times as large as those before them.
    return isLong(page.json) ? read(at, countLike(page)) : page;
  };
  // The first part is read before the answer begins, so that a failing store can still be answered with.
  const first = await read(from, limits.firstPlants);
  if (!first.next) return { next, json: `[${first.json}]` };
  return { next, json: partsOf(first, read, limit ?? Infinity) };
}

function partsOf(
  first: PlantPage,
  read: (at: Position, count: number) => Promise<PlantPage>,
  limit: number,
): NextPart {
  let begin: string | undefined = `[${first.json}`;
  let { next, count } = first;
  let wanted = countLike(first);

  return async () => {
    if (begin !== undefined) {
      const text = begin;
      begin = undefined;
      return { text, isLast: false };
    }
    const page = next && (await read(next, wanted));
    if (!page || page.json === '') return { text: ']', isLast: true };
    count += page.count;
    // More than were counted: the client must not take what it has for the list that it asked for.
    if (count > limit) throw new Error('plants were added in the middle of a list with a limit');
    next = page.next;
    wanted = countLike(page);
    return { text: `,\n${page.json}${next ? '' : ']'}`, isLast: !next };
  };
}

/** How many plants like those of the page make a part, with room for some that are larger. */
function countLike({ json, count }: PlantPage): number {
  const each = Math.max(1, Buffer.byteLength(json) / Math.max(1, count));
  return Math.min(limits.partPlants, Math.max(1, Math.floor((limits.partBytes * FILLED) / each)));
}

const FILLED = 3 / 4;
/** Bytes for the plants of a part, beside what stands before and behind them. */
const ROOM = limits.partBytes - ',\n]'.length;

function isLong(json: string): boolean {
  // Most pages are so short that their bytes need not be counted: three at most for each unit of UTF-16.
  return json.length * 3 > ROOM && Buffer.byteLength(json) > ROOM;
}
