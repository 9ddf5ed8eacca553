import { retryLater } from '../errors.ts';
import { list as limits } from '../limits.ts';
import type { PageQuery, PlantPage, PlantStore, Position } from './port.ts';

type ListRequest = Pick<PageQuery, 'viewer' | 'order' | 'fields'> & {
  /** Where the list begins; by default at its start. `last`: at its last `limit` plants, or at its start without one. */
  from: Position | 'last' | undefined;
  limit: number | undefined;
};

type PlantList = {
  /** Where the list continues; undefined at its end. */
  next: Position | undefined;
  /** A JSON array; in parts when it is long. */
  json: string | NextPart;
};

/**
 * Reads the next part of a list from the store: at most `partBytes` of text. Call it until it returns the last part.
 * Between two calls only a position is kept.
 */
export type NextPart = () => Promise<{ text: string; isLast: boolean }>;

/**
 * The plants that the viewer may read. A long list is read part by part, and nothing stays open in between: each
 * plant that exists throughout appears exactly once, others at most once.
 * @throws AppError 50300 for a list by name while an update prepares the names
 */
export async function listPlants(store: PlantStore, request: ListRequest): Promise<PlantList> {
  const { viewer, order, limit, fields } = request;
  // Check before reading: a name that is folded while the list is read may come too late for it.
  if (typeof order === 'object' && !(await store.hasNames(viewer))) {
    throw retryLater(
      50300,
      'After an update, the service is still preparing the names of plants for searches; retry in a few minutes.',
    );
  }
  const from =
    request.from === 'last' ? await store.lastPage({ viewer, order, count: limit ?? 0 }) : request.from;
  if (limit === undefined || limit > limits.firstPlants) return longList(store, request, from);
  const { json, next } = await store.page({ viewer, order, from, through: undefined, limit, fields });
  return isLong(json) ? longList(store, request, from) : { next, json: `[${json}]` };
}

async function longList(
  store: PlantStore,
  { viewer, order, limit, fields }: ListRequest,
  from: Position | undefined,
): Promise<PlantList> {
  const endFrom = (at: Position | undefined) => store.end({ viewer, order, from: at, count: limit });
  // Counted before any plant is read: those that are added later are not in the list.
  let end = limit === undefined ? undefined : await endFrom(from);
  const read = async (at: Position | undefined, count: number): Promise<PlantPage> => {
    const bounds = { from: at, through: end?.last, ends: end?.ends };
    const page = await store.page({ viewer, order, ...bounds, limit: count, fields });
    // These plants may be a hundred times as large as the earlier ones.
    return isLong(page.json) ? read(at, countLike(page)) : page;
  };
  // Read the first part before the answer begins, so that a store failure can still be reported.
  const first = await read(from, limits.firstPlants);
  if (!first.next) return { next: end?.next, json: `[${first.json}]` };
  // A list ends even while plants are added.
  end ??= await endFrom(first.next);
  return { next: end.next, json: partsOf(first, read, limit ?? Infinity) };
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
    // More than were counted: fail, so that the client does not take a wrong list for the one it requested.
    if (count > limit) throw new Error('plants were added within a list with a limit');
    next = page.next;
    wanted = countLike(page);
    return { text: `,\n${page.json}${next ? '' : ']'}`, isLast: !next };
  };
}

/** How many plants of this size make a part, with room for some larger ones. */
function countLike({ json, count }: PlantPage): number {
  const each = Math.max(1, Buffer.byteLength(json) / Math.max(1, count));
  return Math.min(limits.partPlants, Math.max(1, Math.floor((limits.partBytes * FILLED) / each)));
}

const FILLED = 3 / 4;
/** Bytes for the plants of a part, without the text around them. */
const ROOM = limits.partBytes - ',\n]'.length;

function isLong(json: string): boolean {
  // Most pages are so short that counting bytes is unnecessary: a UTF-16 unit takes at most three.
  return json.length * 3 > ROOM && Buffer.byteLength(json) > ROOM;
}
