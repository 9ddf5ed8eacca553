import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { retryLater } from '../../errors.ts';
import { feeds as limits } from '../../limits.ts';
import { eventJson } from '../../webhooks/event.ts';
import { type FollowParts, followEvents } from '../../webhooks/event-feed.ts';
import { createEventHub } from '../../webhooks/event-hub.ts';
import type { FeedEvent } from '../../webhooks/port.ts';

export type StreamRequest = {
  viewer: number;
  /** The position to begin behind. */
  after: string;
  /** What the stream is sent over. */
  response: ServerResponse;
  cursorOf(position: string): string;
  /** Whether the caller's token still counts. */
  isAdmitted(): Promise<boolean>;
  /** Called when the store fails; the stream then breaks off. */
  onFailure(error: unknown): void;
};

type Live = { user: number; end(): void };

/**
 * Opens streams of events as text/event-stream (https://html.spec.whatwg.org/multipage/server-sent-events.html), so
 * many at a time as the service admits. They end when `drain` is aborted.
 *
 * @throws AppError 42900 when the user has as many as may be, 50300 when all users together have.
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
    // Nothing is read ahead: a slow reader costs the part that it is being sent.
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
        // A client that does not read would not see the end either, and would hold up the stop.
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
    // A client that sends no more may wait for its answer; but one that left looks the same, and this has no end.
    socket.once('end', live.end);
    if (drain.aborted || socket.readableEnded) live.end();
    return stream;
  };
}

function refuseTooMany(streams: ReadonlySet<Live>, user: number): void {
  const seconds = limits.retryAfterSeconds;
  if (streams.size >= limits.streams) {
    throw retryLater(50300, 'The service has as many event streams as it admits; nothing was done.', {
      seconds,
    });
  }
  const own = [...streams].filter((stream) => stream.user === user);
  if (own.length >= limits.streamsPerUser) {
    throw retryLater(
      42900,
      `You have ${own.length} event streams, which is the most there may be; end one first.`,
      { seconds },
    );
  }
}

async function* toText(
  parts: AsyncIterable<FeedEvent[]>,
  /** With an id, so that a client that is cut off before its first event misses none either. */
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

/** JSON text has no line breaks of its own. */
function messageOf(event: FeedEvent, cursor: string): string {
  return `id: ${cursor}\nevent: ${event.type}\ndata: ${eventJson(event)}\n\n`;
}
