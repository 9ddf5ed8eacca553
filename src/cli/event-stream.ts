import { setTimeout as pause } from 'node:timers/promises';
import { send } from './api.ts';
import { ApiFailure, late, notOfPlantStore } from './api-failure.ts';
import type { Api } from './api-options.ts';
import { stream as bounds, requests } from './limits.ts';

export type FollowOptions = {
  /** Ends the stream; the generator then returns. */
  signal: AbortSignal;
  /** Called with a sentence for a person: that the stream is open, is lost, or may have lost events. */
  onChange(message: string): void;
  /** A stream that is silent for so long is taken for dead. */
  silenceMs?: number;
  /** Between two tries to connect again; it doubles from the first to the most. */
  reconnectMs?: { first: number; most: number };
};

/**
 * The events of the service from now on, each as its JSON text. A stream that breaks off is opened again behind the
 * last event that came, after pauses that grow, so that none is lost and none comes twice.
 *
 * Throws `ApiFailure` when the first connection fails, or a later one in a way that does not pass by itself.
 */
export async function* followEvents(api: Api, options: FollowOptions): AsyncGenerator<string> {
  const { signal, onChange, silenceMs = bounds.silenceMs, reconnectMs = bounds.reconnectMs } = options;
  let cursor: string | undefined;
  // Undefined until it was connected once.
  let isLost: boolean | undefined;
  let wait = reconnectMs.first;
  while (!signal.aborted) {
    try {
      const body = await openStream(api, cursor, signal);
      onChange(isLost ? connectedAgain(cursor) : `Listening to ${api.url}. Ctrl+C ends it.`);
      isLost = false;
      wait = reconnectMs.first;
      for await (const { id, data } of messagesIn(api, body, { signal, silenceMs })) {
        cursor = id ?? cursor;
        if (data !== undefined) yield data;
      }
    } catch (error) {
      if (signal.aborted) return;
      const isForgotten = cursor !== undefined && error instanceof ApiFailure && error.code === 40007;
      if (isLost === undefined || (isFinal(error) && !isForgotten)) throw error;
      if (!isLost) onChange(`${error instanceof Error ? error.message : error} Connecting again.`);
      isLost = true;
      if (isForgotten) cursor = undefined;
    }
    await pause(wait, undefined, { signal }).catch(() => {});
    wait = Math.min(2 * wait, reconnectMs.most);
  }
}

/** Without a cursor the service begins with what comes now. */
function connectedAgain(cursor: string | undefined): string {
  if (cursor !== undefined) return 'Connected again.';
  return 'Connected again. Events that came meanwhile may be missing.';
}

/** Whether trying again would not help: the token, the URL, or what answers there is wrong. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof ApiFailure)) return true;
  const { status } = error;
  return status !== undefined && status < 500 && status !== 408 && status !== 429;
}

async function openStream(
  api: Api,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const opening = new AbortController();
  const stop = () => opening.abort();
  const timer = setTimeout(stop, requests.deadlineMs);
  signal.addEventListener('abort', stop);
  const headers = new Headers({ accept: 'text/event-stream' });
  if (cursor !== undefined) headers.set('last-event-id', cursor);
  try {
    const answer = await send(api, '/events/stream', { headers, signal: opening.signal });
    const { body } = answer;
    if (body !== null && answer.headers.get('content-type')?.startsWith('text/event-stream')) return body;
    await body?.cancel();
    throw notOfPlantStore(api, answer.status);
  } catch (error) {
    throw opening.signal.aborted ? late(api, 'GET', requests.deadlineMs) : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** A position in the stream, or an event. The position of an event comes before it. */
type Message = { id?: string; data?: string };

const CURSOR = /^[!-~]*$/;

/** Ends by an `ApiFailure` only. */
async function* messagesIn(
  api: Api,
  body: ReadableStream<Uint8Array>,
  { signal, silenceMs }: { signal: AbortSignal; silenceMs: number },
): AsyncGenerator<Message> {
  const { createParser } = await import('eventsource-parser');
  let messages: Message[] = [];
  const parser = createParser({
    maxBufferSize: bounds.eventLength,
    onId(id) {
      // It goes back to the service in a header.
      if (!CURSOR.test(id)) throw notOfPlantStore(api, 200);
      messages.push({ id });
    },
    onEvent: ({ data }) => void messages.push({ data }),
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') throw notOfPlantStore(api, 200);
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  // Closes the connection, which may be broken already; a read that waits sees the end.
  const stop = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    for (;;) {
      parser.feed(decoder.decode(await nextChunk(reader, silenceMs), { stream: true }));
      yield* messages;
      messages = [];
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
): Promise<Uint8Array> {
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const silent = new ApiFailure(`The event stream was silent for ${silenceMs / 1000} s.`);
  const timer = setTimeout(reject, silenceMs, silent);
  try {
    const { value } = await Promise.race([reader.read(), silence]);
    if (value !== undefined) return value;
  } catch (error) {
    throw error === silent ? error : new ApiFailure('The event stream broke off.', { cause: error });
  } finally {
    clearTimeout(timer);
  }
  throw new ApiFailure('The service ended the event stream.');
}
