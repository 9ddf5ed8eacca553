import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Answer, failed, succeeded } from './answer.ts';
import { type Service, startService } from './service.ts';

/** A client of `GET /events/stream` that reads only what a test requests. */
export type Follower = {
  response: IncomingMessage;
  /** The next block of lines, up to an empty one; rejects after 20 s, and when the stream ends. */
  next(): Promise<string>;
  /** The next message, its data parsed as JSON. */
  event(): Promise<FollowedEvent>;
  /** Resolves when the stream has ended with nothing left in it. */
  ended(): Promise<void>;
  close(): void;
};

export type FollowedEvent = { cursor: string; type: string; data: EventData };

export type EventData = {
  id: string;
  type: string;
  createdAt: string;
  plant: { id: number; name: string; tag?: string };
};

const PATIENCE_MS = 20_000;

/** Opens the stream and reads its start: the cursor, and `retry:`. */
export async function follow(service: Service, token: string, lastEventId?: string): Promise<Follower> {
  const response = await openStream(service, token, lastEventId);
  assert.equal(response.statusCode, 200);
  const follower = over(response);
  assert.match(await follower.next(), /^id: \w+\.[\w-]{22}\nretry: 1000$/);
  return follower;
}

export async function take(follower: Follower, count: number): Promise<FollowedEvent[]> {
  const events: FollowedEvent[] = [];
  while (events.length < count) events.push(await follower.event());
  return events;
}

/** The service's response object of the next stream. */
export function nextResponse(): Promise<ServerResponse> {
  return new Promise((resolve) => {
    const channel = 'http.server.request.start';
    subscribe(channel, function take(message) {
      // Node publishes this with the request and the response (https://nodejs.org/api/diagnostics_channel.html).
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
      if (request.url !== '/events/stream') return;
      unsubscribe(channel, take);
      resolve(response);
    });
  });
}

/** Asserts that the stream is refused with this code. */
export async function refused(
  service: Service,
  token: string,
  code: Parameters<typeof failed>[1],
  lastEventId?: string,
): Promise<Answer> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const answer = await service.request('GET', '/events/stream', { token, headers });
  failed(answer, code);
  return answer;
}

/** An answer with nothing read from it yet. */
export async function openStream(
  service: Service,
  token: string,
  lastEventId?: string,
): Promise<IncomingMessage> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
  const request = get(`${service.url}/events/stream`, { headers, agent: false });
  const [response]: IncomingMessage[] = await once(request, 'response');
  // Both request and response report a reset.
  request.on('error', () => {});
  assert.ok(response !== undefined);
  return response;
}

function over(response: IncomingMessage): Follower {
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]();
  let text = '';

  async function read(): Promise<boolean> {
    const { value, done } = await inTime(chunks.next());
    if (!done) text += value;
    return !done;
  }

  async function next(): Promise<string> {
    for (let end = text.indexOf('\n\n'); ; end = text.indexOf('\n\n')) {
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        return block;
      }
      if (!(await read())) throw new Error(`The stream ended with a rest: ${JSON.stringify(text)}`);
    }
  }

  return {
    response,
    next,
    async event() {
      const block = await next();
      const [, cursor = '', type = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? [];
      assert.ok(data !== '', block);
      return { cursor, type, data: JSON.parse(data) };
    },
    async ended() {
      while (await read());
      assert.equal(text, '');
    },
    close: () => response.destroy(),
  };
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('Nothing arrived in time.')), PATIENCE_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export async function withService(work: (service: Service) => Promise<void>): Promise<void> {
  const service = await startService();
  try {
    await work(service);
  } finally {
    await service.stop();
  }
}

export async function plant(
  service: Service,
  token: string,
  body: unknown = { name: 'Alder' },
): Promise<void> {
  succeeded(await service.request('POST', '/plants', { body, token }), 201);
}

export const idsOf = (events: FollowedEvent[]) => events.map(({ data }) => data.plant.id);
