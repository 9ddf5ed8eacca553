import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FromSchema } from 'json-schema-to-ts';
import { feeds as limits } from '../../limits.ts';
import { EventView, eventJson } from '../../webhooks/event.ts';
import { listEvents } from '../../webhooks/event-feed.ts';
import { linesOf } from '../observe/request-log.ts';
import { createEventStreams } from '../request/event-stream.ts';
import { type Operations, pageLimit } from './operation.ts';
import { answerJson, type RouteContext } from './route.ts';

const ListQuery = {
  type: 'object',
  properties: {
    limit: pageLimit('events'),
    cursor: {
      type: 'string',
      description:
        'the cursor of an earlier answer: returns the events after it; without it, from the oldest on',
    },
  },
  additionalProperties: false,
} as const;
type ListQuery = FromSchema<typeof ListQuery>;

export const eventsOperations = {
  listEvents: {
    method: 'GET',
    url: '/events',
    scope: 'webhooks:read',
    summary: 'List events',
    description:
      'Returns the events of the plants that you have access to, oldest first, and a cursor. With that cursor, ' +
      'the next request continues after the last event; none is ever skipped. Fewer events than `limit` ' +
      'are all that exist so far.',
    tag: 'Events',
    query: ListQuery,
    success: {
      status: 200,
      description: 'The events.',
      schema: {
        type: 'object',
        required: ['events', 'cursor'],
        properties: {
          events: { type: 'array', items: EventView },
          cursor: { type: 'string', description: 'where to continue; present even without events' },
        },
      },
    },
    failures: [40007],
  },
  streamEvents: {
    method: 'GET',
    url: '/events/stream',
    scope: 'webhooks:read',
    summary: 'Follow events',
    description:
      'The same events as server-sent events: after `Last-Event-ID`, else from now on. The first ' +
      `lines carry the id of that position. A comment follows after every ${limits.heartbeatMs / 1000} ` +
      'quiet seconds. The stream ends when the service stops or the token is no longer valid; reconnect with the ' +
      'last id.',
    tag: 'Events',
    headers: {
      'Last-Event-ID': { type: 'string', description: 'the id of an event of this stream, or a cursor' },
    },
    success: {
      status: 200,
      description: 'The stream: `id` is a cursor, `event` the type, `data` the Event as JSON in one line.',
      type: 'text/event-stream',
      schema: { type: 'string' },
    },
    failures: [40007],
  },
} satisfies Operations;

/** The events of the plants that the caller has access to, as a list or a stream. */
export function eventsRoutes(app: FastifyInstance, context: RouteContext): void {
  listRoute(app, context);
  streamRoute(app, context);
}

function listRoute(app: FastifyInstance, { webhooks, cursors, routeOf }: RouteContext): void {
  app.route<{ Querystring: ListQuery }>({
    ...routeOf(eventsOperations.listEvents),
    async handler({ query, principal }, reply) {
      const viewer = principal.user.id;
      const origin = eventsOrigin(viewer);
      const after = query.cursor === undefined ? undefined : cursors.open(query.cursor, origin);
      const { events, next } = await listEvents(webhooks, {
        viewer,
        after,
        limit: query.limit ?? limits.page,
      });
      answerJson(reply);
      return `{"events":[${events.map(eventJson).join()}],"cursor":"${cursors.seal(next, origin)}"}`;
    },
  });
}

function streamRoute(app: FastifyInstance, context: RouteContext): void {
  app.route({ ...context.routeOf(eventsOperations.streamEvents), handler: streamHandler(context) });
}

function streamHandler(context: RouteContext) {
  const { webhooks, visibleOwners, cursors, drain, stillAdmits } = context;
  const openStream = createEventStreams({ events: webhooks.events, visibleOwners, drain });

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const viewer = request.principal.user.id;
    const origin = eventsOrigin(viewer);
    const after = await startOf(request, context);
    const stream =
      request.method === 'HEAD'
        ? Readable.from([], { objectMode: false })
        : openStream({
            viewer,
            after,
            response: reply.raw,
            cursorOf: (position) => cursors.seal(position, origin),
            isAdmitted: () => stillAdmits('webhooks:read', request),
            onFailure: (error) =>
              request.log.error({ err: error, ...linesOf(request) }, 'a stream of events failed'),
          });
    // A proxy that buffers responses would delay the events.
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    return reply.header('content-type', 'text/event-stream').send(stream);
  };
}

/** @throws AppError 40007 when the events after `Last-Event-ID` are no longer kept, or it is not a cursor. */
async function startOf(
  { headers, principal }: FastifyRequest,
  { webhooks, cursors }: RouteContext,
): Promise<string> {
  const viewer = principal.user.id;
  const lastId = headers['last-event-id'];
  // Some clients send it empty before they have one.
  if (lastId === undefined || lastId === '') return webhooks.events.latestPosition(viewer);
  const after = cursors.open(String(lastId), eventsOrigin(viewer));
  await listEvents(webhooks, { viewer, after, limit: 1 });
  return after;
}

/** The list and the stream use the same cursors. */
function eventsOrigin(user: number) {
  return { list: 'events', user };
}
