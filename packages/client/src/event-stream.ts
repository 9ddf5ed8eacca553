import { foreign, parsed, unanswered } from './answers.ts';
import { linkedTo, pause, within } from './deadlines.ts';
import { PlantStoreError } from './plant-store-error.ts';
import type { Requests } from './requests.ts';
import { mayPass, pauseAfter } from './retries.ts';
import type { PlantEvent } from './schemas.ts';

export type StreamOptions = {
  /** A cursor, or the `cursor` of a streamed event: starts after it. By default from now on. */
  after?: string | undefined;
  /** Ends the stream, and with it the loop over it. */
  signal?: AbortSignal | undefined;
  /** Called each time the stream connects. */
  onOpen?: (() => void) | undefined;
  /** Called each time it is lost or cannot be opened; it is retried. */
  onError?: ((error: PlantStoreError) => void) | undefined;
};

/** An event with its cursor, from which a later stream can continue. */
export type StreamedEvent = PlantEvent & { cursor: string };

/** The service sends something every 15 seconds. */
const SILENCE_MS = 45_000;
/** Characters of one event. The longest, with every character escaped, takes under 4 000. */
const LONGEST_EVENT = 16_384;

/** Follows the events of the service (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export async function* streamEvents(
  requests: Requests,
  { after: cursor, signal, onOpen, onError }: StreamOptions,
): AsyncGenerator<StreamedEvent, void, void> {
  let reconnectMs = 1000;
  let faults = 0;
  for (let tries = 0; !signal?.aborted; tries++) {
    let failure = new PlantStoreError('The service ended the event stream.');
    let isOpen = false;
    try {
      for await (const message of messages(requests, cursor, signal)) {
        if (signal?.aborted) return;
        // The first message gives the stream's position: from here on nothing can be missed.
        if (!isOpen) onOpen?.();
        isOpen = true;
        // The id is sent back to the service in a header.
        if (/[^!-~]/.test(`${message.id}`)) throw foreign(requests.base, { status: 200 });
        tries = faults = 0;
        cursor = message.id ?? cursor;
        reconnectMs = Number(message.retry) || reconnectMs;
        // The service sends only events as data, and each has an id.
        if (message.data)
          yield { ...(parsed(requests.base, 200, message.data) as PlantEvent), cursor: cursor as string };
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof PlantStoreError)) throw error;
      // Nobody restarts an ended stream, so it is retried a few times even after a fault of the service.
      if (!mayPass(error, faults < requests.retries)) throw error;
      if (error.status === 500) faults++;
      failure = error;
    }
    onError?.(failure);
    await pause(pauseAfter(tries, failure, reconnectMs), signal).catch(() => {});
  }
}

type Message = { id?: string; data?: string; retry?: string };

async function* messages(
  { base, timeoutMs, open }: Requests,
  cursor: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Message, void, void> {
  const { ending, unlink } = linkedTo(signal);
  const heard = <T>(ms: number, step: () => Promise<T>) =>
    within(ms, ending, `The event stream was silent for ${ms / 1000} s.`, step);
  const headers = { accept: 'text/event-stream', ...(cursor && { 'last-event-id': cursor }) };
  const request = { path: ['events', 'stream'], headers, signal: ending.signal };
  try {
    const response = await heard(timeoutMs, () => open(request));
    const reader = readerOf(base, response);
    const read = () =>
      reader.read().catch((cause) => {
        throw unanswered(base, cause);
      });
    for (let text = ''; ; ) {
      const { done, value } = await heard(SILENCE_MS, read);
      if (done) return;
      const parts = (text + value).split('\n\n');
      // An incomplete message is sent again if the stream breaks off here.
      text = parts.pop() ?? '';
      if (text.length > LONGEST_EVENT) throw foreign(base, { status: 200 });
      yield* parts.map(messageOf);
    }
  } finally {
    unlink();
    ending.abort();
  }
}

function readerOf(base: string, { body, status, headers }: Response): ReadableStreamDefaultReader<string> {
  const isStream = headers.get('content-type')?.startsWith('text/event-stream');
  if (!body || !isStream) throw foreign(base, { status });
  return body.pipeThrough(new TextDecoderStream()).getReader();
}

/** The service ends each line with a line feed and sends each field at most once, except `data`. */
function messageOf(text: string): Message {
  const message: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const [name = '', value = ''] = line.split(/: ?(.*)/s);
    message[name] = message[name] ? `${message[name]}\n${value}` : value;
  }
  return message;
}
