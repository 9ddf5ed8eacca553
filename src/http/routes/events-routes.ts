import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { retryLater } from '../../errors.ts';
import { activity, feeds as limits } from '../../limits.ts';
import { ActiveHourView, activeHourJson, activityOf } from '../../webhooks/activity.ts';
import { EventView, eventJson } from '../../webhooks/event.ts';
import { createEventHub, type FollowParts, followEvents, listEvents } from '../../webhooks/event-feed.ts';
import type { FeedEvent } from '../../webhooks/port.ts';
import { linesOf } from '../observe/request-log.ts';
import { isStillAdmitted } from '../request/authorization.ts';
import { type Operations, pageLimit } from './operation.ts';
import type { RouteContext } from './route.ts';

const ListQuery = {
  limit: pageLimit('events'),
  cursor: {
    type: 'string',
    description:
      'the cursor of an earlier answer: returns the events after it; without it, from the oldest on',
  },
} as const;

const ActivityQuery = {
  hours: {
    type: 'integer',
    minimum: 1,
    maximum: activity.mostHours,
    description: `an integer from 1 to ${activity.mostHours}: how many hours; without it, ${activity.hours}`,
  },
} as const;

export const eventsOperations = {
  listEvents: {
    method: 'GET',
    url: '/events',
    scope: 'webhooks:read',
    summary: 'List events',
    description:
      'Returns the events of the plants that you have access to, oldest first, and a cursor. With that cursor, ' +
      'the next request continues after the last event; none is ever skipped. If there are fewer ' +
      'events than `limit`, no more exist so far.',
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
  getActivity: {
    method: 'GET',
    url: '/activity',
    scope: 'webhooks:read',
    summary: 'Count what happened',
    description:
      'Returns how many plants were created in each of the last hours, and the outcomes of their deliveries, oldest ' +
      `first; the last hour is the current one. Returns fewer hours if they hold more than ${activity.countedRows} ` +
      'events and deliveries together.',
    query: ActivityQuery,
    success: {
      status: 200,
      description: 'The hours.',
      schema: {
        type: 'object',
        required: ['hours'],
        properties: { hours: { type: 'array', items: ActiveHourView } },
      },
    },
  },
} satisfies Operations;

/** The events of the plants that the caller has access to, as a list or a stream, and their numbers by hour. */
export function eventsRoutes(context: RouteContext): void {
  const { webhooks, runtime, cursors, route } = context;
  streamRoute(context);
  route(eventsOperations.listEvents, async ({ query, principal }) => {
    const { cursor, limit = limits.page } = query;
    const viewer = principal.user.id;
    const origin = eventsOrigin(viewer);
    const after = cursor === undefined ? undefined : cursors.open(cursor, origin);
    const { events, next } = await listEvents(webhooks, { viewer, after, limit });
    return `{"events":[${events.map(eventJson).join()}],"cursor":"${cursors.seal(next, origin)}"}`;
  });
  route(eventsOperations.getActivity, async ({ query, principal }) => {
    const parts = { deliveries: webhooks.deliveries, clock: runtime.clock };
    const hours = await activityOf(parts, principal.user.id, query.hours ?? activity.hours);
    return `{"hours":[${hours.map(activeHourJson).join()}]}`;
  });
}

/**
 * Sends events as text/event-stream (https://html.spec.whatwg.org/multipage/server-sent-events.html), up to a limit of
 * streams. They end when the service drains.
 */
function streamRoute(context: RouteContext): void {
  const { webhooks, drain, route } = context;
  const hub = createEventHub(webhooks.events);
  /** The open streams, each with its user. */
  const streams = new Map<Readable, number>();

  function openStream(request: FastifyRequest, response: ServerResponse, after: string): Readable {
    const user = request.principal.user.id;
    refuseTooMany(streams, user);
    const ending = new AbortController();
    const text = textOfStream(context, { hub, request, after, signal: ending.signal });
    // Nothing is read ahead: a slow reader costs only the part being sent.
    const stream = Readable.from(text, { objectMode: false, highWaterMark: 0 });
    const end = () => {
      ending.abort();
      // A client that does not read would not see the end either, and would delay the stop.
      if (response.writableNeedDrain) response.destroy();
    };
    const forget = () => {
      streams.delete(stream);
      ending.abort();
      request.socket.off('end', end);
    };
    streams.set(stream, user);
    response.once('close', forget);
    stream.once('close', forget);
    drain.addEventListener('abort', end, { signal: ending.signal });
    // A half-closed client may still wait for its response, but one that left looks the same, and this response never
    // ends.
    request.socket.once('end', end);
    if (drain.aborted || request.socket.readableEnded) end();
    return stream;
  }

  route(eventsOperations.streamEvents, async (request, reply) => {
    const after = await startOf(request, context);
    const stream =
      request.method === 'HEAD'
        ? Readable.from([], { objectMode: false })
        : openStream(request, reply.raw, after);
    // A proxy that buffers responses would delay the events.
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    return reply.header('content-type', 'text/event-stream').send(stream);
  });
}

/** @throws AppError 42900 when the user has reached their limit, 50300 when all users together have. */
function refuseTooMany(streams: ReadonlyMap<Readable, number>, user: number): void {
  const seconds = limits.retryAfterSeconds;
  if (streams.size >= limits.streams) {
    throw retryLater(50300, 'The service has reached its limit of event streams; nothing was done.', {
      seconds,
    });
  }
  const own = [...streams.values()].filter((each) => each === user).length;
  if (own >= limits.streamsPerUser) {
    throw retryLater(42900, `You have ${own} event streams, which is the limit; end one first.`, {
      seconds,
    });
  }
}

type StreamParts = Pick<FollowParts, 'hub' | 'after' | 'signal'> & { request: FastifyRequest };

async function* textOfStream(
  { webhooks: { events }, access, authenticate, cursors }: RouteContext,
  { request, after, ...parts }: StreamParts,
): AsyncIterable<string> {
  const viewer = request.principal.user.id;
  const cursorOf = (position: string) => cursors.seal(position, eventsOrigin(viewer));
  // JSON text contains no line breaks.
  const messageOf = (event: FeedEvent) =>
    `id: ${cursorOf(event.position)}\nevent: ${event.type}\ndata: ${eventJson(event)}\n\n`;
  // With an id, so that a client that is cut off before its first event misses none.
  yield `id: ${cursorOf(after)}\nretry: ${limits.reconnectMs}\n\n`;
  const isAdmitted = () => isStillAdmitted(authenticate, 'webhooks:read', request);
  const { visibleOwners } = access.store;
  try {
    for await (const part of followEvents({ ...parts, events, viewer, after, isAdmitted, visibleOwners })) {
      yield part.map(messageOf).join('') || ': heartbeat\n\n';
    }
  } catch (error) {
    request.log.error({ err: error, ...linesOf(request) }, 'a stream of events failed');
    throw error;
  }
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
