import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify';
import { AppError } from '../../errors.ts';
import { list as limits } from '../../limits.ts';
import { keptLists } from '../../plants/kept-lists.ts';
import { listPlants, type NextPart } from '../../plants/list.ts';
import { createPlant, deletePlant } from '../../plants/operations.ts';
import {
  foldName,
  Id,
  LAST_ASSIGNED_ID,
  ListedPlant,
  Name,
  Plant,
  type PlantId,
  PlantInput,
  parsePlantId,
  plantJson,
  TEXT,
} from '../../plants/plant.ts';
import { type ListOrder, type PlantField, type Position, plantFields } from '../../plants/port.ts';
import { answerJson } from '../request/body.ts';
import { openPosition, sealPosition } from '../request/cursor.ts';
import { callerOf, sendAnswer } from '../request/idempotency.ts';
import { IF_NONE_MATCH, type Operations, PAGE_CURSOR, type ValuesOf } from './operation.ts';
import type { RequestTo, RouteContext } from './route.ts';

const MAX_LIMIT = 2 ** 31 - 1;
const DEFAULT_FIELDS: readonly PlantField[] = ['name', 'tag'];

const ListQuery = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_LIMIT,
    description: `an integer from 1 to ${MAX_LIMIT}: the most plants to return; without it, all`,
  },
  cursor: {
    ...PAGE_CURSOR,
    description: `${PAGE_CURSOR.description}; or \`last\`: the last page, with a limit of at most ${limits.lastPlants}`,
  },
  name: {
    type: 'string',
    maxLength: Name.maxLength,
    pattern: TEXT,
    description:
      `at most ${Name.maxLength} Unicode code points, without NUL: only plants whose name starts with it, both in ` +
      'NFC and lower case; ordered by that form of the name and then by id',
  },
  order: {
    enum: ['desc'],
    description: 'desc: by descending id; without it, ascending; not together with name',
  },
  from: {
    ...Id,
    description: `${Id.description}: the list begins at your plant with this id or, if you have none, at the next one in its order; shared plants follow; not together with name or cursor`,
  },
  fields: {
    type: 'array',
    items: { enum: plantFields },
    minItems: 1,
    uniqueItems: true,
    description: `one or more of ${plantFields.join()}, each once, separated by commas or in repeated parameters; without it, name,tag`,
  },
} as const;
type ListQuery = ValuesOf<typeof ListQuery>;

export const plantsOperations = {
  createPlant: {
    method: 'POST',
    url: '/plants',
    scope: 'plants:write',
    summary: 'Create a plant',
    description:
      'Adds a plant to the store and announces it to your webhooks and to those of the users that you share with. ' +
      'To retry safely, send an `Idempotency-Key`, or choose an `id`: if the plant already exists, ' +
      'the answer is `40900`. Without an `id` the service assigns one, from 1 up to ' +
      `${LAST_ASSIGNED_ID}. It skips ids that are taken, may leave gaps, and never assigns an id twice, ` +
      'even after its plant is deleted. When none is left, the answer is `40902`.',
    body: PlantInput,
    success: {
      status: 201,
      description: 'The plant was added.',
      schema: Plant,
      headers: {
        Location: 'The path of the plant. The last segment is its id, even if the service assigned it.',
      },
    },
    failures: [40900, 40902],
  },
  listPlants: {
    method: 'GET',
    url: '/plants',
    scope: 'plants:read',
    summary: 'List plants',
    description:
      'Returns the plants that you have access to: your own by id, then those that other users share with you, by the ' +
      "owner's name and id. `name` finds plants by the beginning of their name, `order=desc` lists the highest ids first, " +
      '`from` begins at an id, and `cursor=last` is the last page. ' +
      'A page takes the same time however many plants there are. ' +
      `If plants are added within a list with a limit while it is sent in parts (over ${limits.firstPlants} plants, or ` +
      `${limits.partBytes / 1024} KiB), the connection may be reset: repeat the request.`,
    headers: IF_NONE_MATCH,
    query: ListQuery,
    success: {
      status: 200,
      description: 'The plants.',
      schema: { type: 'array', items: ListedPlant },
      headers: {
        ETag: 'Changes with the list and its `Link`. Absent from a long list, which is streamed.',
        Link: 'With `limit`, when there are more: the URL of the next page, as `<…>; rel="next"`.',
      },
    },
    failures: [40007],
  },
  deletePlant: {
    method: 'DELETE',
    url: '/plants/:id',
    scope: 'plants:write',
    summary: 'Delete a plant',
    description: 'Removes your plant with this id. A plant that another user shares with you is not found.',
    path: { id: Id },
    success: { status: 204, description: 'The plant was removed.' },
    failures: [40004, 40401],
  },
} satisfies Operations;

/** Create, list and delete. */
export function plantsRoutes(context: RouteContext): void {
  const { basePath, route } = context;
  const plants = { store: context.plants, runtime: context.runtime };

  route(plantsOperations.createPlant, async (request, reply) => {
    const { name, tag, id: wanted } = request.body;
    const answer = (id: PlantId | '') => ({
      status: reply.statusCode,
      location: `${basePath}/plants/${id}`,
      body: plantJson({ name, tag }),
    });
    const caller = callerOf(request, () => ({ ...answer(wanted ?? ''), appendsId: wanted === undefined }));
    const id = await createPlant(plants, request.principal.user.id, request.body, caller);
    return sendAnswer(reply, answer(id));
  });
  listRoute(context);
  route(plantsOperations.deletePlant, async (request) => {
    const caller = callerOf(request);
    await deletePlant(plants, request.principal.user.id, parsePlantId(request.params.id), caller);
  });
}

/** A list that is held in memory, as it is answered. */
type WholeList = { json: string; link: string; etag: string };
type List = WholeList | { json: NextPart; link: string };

const isWhole = (list: List | undefined): list is WholeList => typeof list?.json === 'string';

function listRoute({ plants, sendParts, basePath, cursors, route }: RouteContext): void {
  const lists = keptLists<List>(plants.stamp);

  // Before the query is read: it was valid when the list was kept.
  const preValidation: preValidationHookHandler = ({ principal, originalUrl }, reply, done) => {
    const kept = lists.find(principal.user.id, originalUrl);
    const answer = (list: List | undefined) => void (isWhole(list) ? answerWhole(reply, list) : done());
    if (kept instanceof Promise) kept.then(answer).catch(done);
    else answer(kept);
  };
  const answer = async (request: RequestTo<typeof plantsOperations.listPlants>, reply: FastifyReply) => {
    const { limit, fields = DEFAULT_FIELDS } = request.query;
    const order = orderOf(request.query);
    const viewer = request.principal.user.id;
    const open = (cursor: string) => openPosition(cursors, cursor, viewer, order);
    const from = beginOf(request.query, viewer, open);
    const list = await lists.read(viewer, request.originalUrl, async (): Promise<List> => {
      const { json, next } = await listPlants(plants, { viewer, order, from, limit, fields });
      let link = '';
      if (next) {
        const query = `limit=${limit}&cursor=${sealPosition(cursors, next, viewer, order)}`;
        link = `<${basePath}/plants?${query}${chosenIn(request.query)}>; rel="next"`;
      }
      return typeof json === 'string' ? { json, link, etag: etagOf(link + json) } : { json, link };
    });
    if (isWhole(list)) return answerWhole(reply, list);
    answerJson(withListHeaders(reply, list.link));
    // A HEAD would read the whole list only to discard it.
    if (request.method === 'HEAD') return nothing();
    return sendParts(list.json, request, reply);
  };
  route(plantsOperations.listPlants, answer, { preValidation });
}

function answerWhole(reply: FastifyReply, { json, link, etag }: WholeList): FastifyReply {
  withListHeaders(reply, link).header('etag', etag);
  if (!isUnchanged(reply.request, etag)) return answerJson(reply).send(json);
  // Fastify would say that it has the length 0; a 304 may only say that of the list (RFC 9110 §8.6).
  return reply.code(304).send(reply.request.method === 'HEAD' ? nothing() : undefined);
}

/** A body of unknown length. */
function nothing(): Readable {
  return Readable.from([], { objectMode: false });
}

/** A strong entity tag (RFC 9110 §8.8.3), the same after a restart. SHA-1 is the fastest that Node has for a page. */
function etagOf(text: string): string {
  return `"${hash('sha1', text, 'base64url')}"`;
}

/**
 * Whether `If-None-Match` names the tag (RFC 9110 §13.1.2). No tag contains a quotation mark, so ours is found in any
 * list exactly when it is an element; the weak comparison ignores a `W/`.
 */
function isUnchanged({ headers }: FastifyRequest, etag: string): boolean {
  const known = headers['if-none-match'];
  return known !== undefined && (known === '*' || known.includes(etag));
}

function withListHeaders(reply: FastifyReply, link: string): FastifyReply {
  if (link !== '') reply.header('link', link);
  // A browser may keep the list, but asks each time whether it is still the same.
  return reply.header('cache-control', 'no-cache');
}

function orderOf({ name, order }: ListQuery): ListOrder {
  if (name === undefined) return order === 'desc' ? 'descending' : 'id';
  if (order === undefined) return { prefix: foldName(name) };
  throw new AppError(40003, 'The query parameters "name" and "order" exclude each other; use one of them.');
}

function beginOf(
  { cursor, name, from, limit = Infinity }: ListQuery,
  viewer: number,
  open: (cursor: string) => Position,
): Position | 'last' | undefined {
  if (from === undefined) {
    if (cursor !== 'last') return cursor === undefined ? undefined : open(cursor);
    if (limit <= limits.lastPlants) return cursor;
    throw new AppError(40003, `"cursor=last" needs a "limit" of at most ${limits.lastPlants}.`);
  }
  if (cursor === undefined && name === undefined) return { owner: viewer, id: from };
  throw new AppError(40003, 'The query parameter "from" excludes "cursor" and "name".');
}

/** The parameters that the next page repeats. */
function chosenIn({ name, order, fields }: ListQuery): string {
  return [
    name === undefined ? '' : `&name=${encodeURIComponent(name)}`,
    order === undefined ? '' : `&order=${order}`,
    fields ? `&fields=${fields.join()}` : '',
  ].join('');
}
