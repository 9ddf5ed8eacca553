import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { retryLater } from '../../errors.ts';
import { feeds as limits } from '../../limits.ts';
import { eventJson } from '../../webhooks/event.ts';
import { createEventHub, type FollowParts, followEvents } from '../../webhooks/event-feed.ts';
import type { FeedEvent } from '../../webhooks/port.ts';

type StreamRequest = Pick<FollowParts, 'viewer' | 'after' | 'isAdmitted'> & {
  /** The response that carries the stream. */
  response: ServerResponse;
  cursorOf(position: string): string;
  /** Called when the store fails; the stream then ends. */
  onFailure(error: unknown): void;
};

type Live = { user: number; end(): void };

/**
 * Opens streams of events as text/event-stream (https://html.spec.whatwg.org/multipage/server-sent-events.html), up
 * to a limit. They end when `drain` is aborted.
 * @throws AppError 42900 when the user has reached their limit, 50300 when all users together have.
 */
export function createEventStreams({
  events,
  visibleOwners,
  drain,
}: Pick<FollowParts, 'events' | 'visibleOwners'> & {
  drain: AbortSignal;
}): (request: StreamRequest) => Readable {
  const hub = createEventHub(events);
  const streams = new Set<Live>();
  drain.addEventListener('abort', () => {
    for (const stream of streams) stream.end();
  });

  return ({ viewer, after, response, isAdmitted, ...request }) => {
    refuseTooMany(streams, viewer);
    const ending = new AbortController();
    const { signal } = ending;
    const followed = followEvents({ events, hub, viewer, after, signal, isAdmitted, visibleOwners });
    // Nothing is read ahead: a slow reader costs only the part being sent.
    const beginning = `id: ${request.cursorOf(after)}\nretry: ${limits.reconnectMs}\n\n`;
    const stream = Readable.from(toText(followed, beginning, request), {
      objectMode: false,
      highWaterMark: 0,
    });
    const { socket } = response.req;
    const live: Live = {
      user: viewer,
      end() {
        ending.abort();
        // A client that does not read would not see the end either, and would delay the stop.
        if (response.writableNeedDrain) response.destroy();
      },
    };
    const forget = () => {
      streams.delete(live);
      ending.abort();
      socket.off('end', live.end);
    };
    streams.add(live);
    response.once('close', forget);
    stream.once('close', forget);
    // A half-closed client may still wait for its response, but one that left looks the same, and this response never
    // ends.
    socket.once('end', live.end);
    if (drain.aborted || socket.readableEnded) live.end();
    return stream;
  };
}

function refuseTooMany(streams: ReadonlySet<Live>, user: number): void {
  const seconds = limits.retryAfterSeconds;
  if (streams.size >= limits.streams) {
    throw retryLater(50300, 'The service has reached its limit of event streams; nothing was done.', {
      seconds,
    });
  }
  const own = [...streams].filter((stream) => stream.user === user);
  if (own.length >= limits.streamsPerUser) {
    throw retryLater(42900, `You have ${own.length} event streams, which is the limit; end one first.`, {
      seconds,
    });
  }
}

async function* toText(
  parts: AsyncIterable<FeedEvent[]>,
  /** With an id, so that a client that is cut off before its first event misses none. */
  beginning: string,
  { cursorOf, onFailure }: Pick<StreamRequest, 'cursorOf' | 'onFailure'>,
): AsyncIterable<string> {
  yield beginning;
  try {
    for await (const events of parts) {
      if (events.length === 0) yield ': heartbeat\n\n';
      else yield events.map((event) => messageOf(event, cursorOf(event.position))).join('');
    }
  } catch (error) {
    onFailure(error);
    throw error;
  }
}

/** JSON text contains no line breaks. */
function messageOf(event: FeedEvent, cursor: string): string {
  return `id: ${cursor}\nevent: ${event.type}\ndata: ${eventJson(event)}\n\n`;
}
