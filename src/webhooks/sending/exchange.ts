import type { Dispatcher } from 'undici';
import { delivery } from '../../limits.ts';
import { type Attempt, codeOf, HEADER_TOO_LONG, NOT_OPENED, reasonOf, SWITCHED } from './attempt.ts';
import type { Connection, Connections, Receiver } from './connections.ts';
import type { Prepared } from './request.ts';

/** The result of a request: an attempt without its times. */
export type Answer = Pick<Attempt, 'address' | 'status' | 'retryAfter' | 'excerpt' | 'error'>;

export type Exchange = {
  start(): void;
  /** Ends it for this reason, with what has arrived so far. Does nothing when it has already ended. */
  end(reason: string): void;
  /** What it waits for. */
  stage(): 'look-up' | 'connection' | 'TLS handshake' | 'answer' | 'rest of the answer';
};

/**
 * Sends a request and reads the response. It reads a short response to its end, to know that it is complete and to
 * reuse the connection. It stops reading a longer one at the limit, and the status counts. `done` is called once.
 *
 * The receiver may have closed a reused connection just as the request was sent. Then the connection ends without a
 * byte of a response, which says nothing about the receiver, so the request is sent once more over a new connection.
 * If the receiver did accept the first one, it gets the same `webhook-id` twice.
 */
export function exchange(
  connections: Connections,
  receiver: Receiver,
  { headers, body }: Prepared,
  done: (answer: Answer) => void,
): Exchange {
  const options = { path: receiver.path, method: 'POST', headers, body } as const;
  const answer: Answer = {};
  let connection = connections.take(receiver);
  let sent = false;
  let begun = false;
  let ended = false;
  let readBefore = 0;
  let bodyBytes = 0;
  const kept: Buffer[] = [];

  function finish(error: string | undefined, isWhole: boolean): void {
    if (ended) return;
    ended = true;
    if (connection.address !== undefined) answer.address = connection.address;
    if (kept.length > 0) answer.excerpt = textOf(kept);
    if (error !== undefined) answer.error = error;
    if (isWhole) connections.giveBack(connection);
    else connections.close(connection);
    done(answer);
  }

  /** Limits everything that arrives: informational responses, an endless status line, chunk extensions. */
  function onRead(): void {
    const read = (connection.socket?.bytesRead ?? 0) - readBefore;
    if (answer.status !== undefined) {
      if (read > delivery.answerReadBytes + delivery.answerHeaderBytes) finish(undefined, false);
    } else if (read > delivery.answerHeaderBytes) {
      finish(HEADER_TOO_LONG, false);
    }
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {
      sent = true;
      connection.requests++;
      readBefore = connection.socket?.bytesRead ?? 0;
    },
    onResponseStarted() {
      begun = true;
    },
    onResponseStart(_, status, { 'retry-after': retryAfter }) {
      if (status < 100) finish(`The response is not valid HTTP (status ${status}).`, false);
      if (status === 101) finish(SWITCHED, false);
      if (status < 200 || ended) return;
      answer.status = status;
      if (typeof retryAfter === 'string') answer.retryAfter = retryAfter.slice(0, delivery.retryAfterLength);
    },
    onResponseData(_, chunk) {
      if (ended) return;
      const room = delivery.answerKeptBytes - bodyBytes;
      // A copy, because the chunk shares its memory with everything read at the same time.
      if (room > 0) kept.push(Buffer.from(chunk.subarray(0, room)));
      bodyBytes += chunk.length;
      if (bodyBytes >= delivery.answerReadBytes) finish(undefined, false);
    },
    onResponseEnd() {
      finish(undefined, true);
    },
    onResponseError(_, error) {
      if (ended) return;
      const isClosed = CLOSED.has(codeOf(error));
      if (isClosed && sent && !begun && connection.requests > 1) again();
      else finish(isClosed && !sent ? NOT_OPENED : reasonOf(error), false);
    },
  };

  function again(): void {
    connections.close(connection);
    connection = connections.open(receiver);
    sent = false;
    start();
  }

  function start(): void {
    connection.carried = carried;
    connection.client.dispatch(options, handler);
  }

  const carried = { onRead, end: (reason: string) => finish(reason, false) };
  return {
    start,
    end: carried.end,
    stage: () => {
      if (answer.status !== undefined) return 'rest of the answer';
      if (sent) return 'answer';
      return stageOf(connection);
    },
  };
}

const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

function stageOf({ address, socket }: Connection): ReturnType<Exchange['stage']> {
  if (address === undefined) return 'look-up';
  return (socket?.connecting ?? true) ? 'connection' : 'TLS handshake';
}

/** Drops a character that the limit cut in two, and replaces NUL, which not every store accepts. */
function textOf(parts: Buffer[]): string {
  return new TextDecoder().decode(Buffer.concat(parts), { stream: true }).replaceAll('\0', '\uFFFD');
}
