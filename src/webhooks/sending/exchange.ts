import type { Dispatcher } from 'undici';
import { delivery } from '../../limits.ts';
import { type Attempt, codeOf, HEADER_TOO_LONG, NOT_OPENED, reasonOf, SWITCHED } from './attempt.ts';
import type { Connection, Connections, Receiver } from './connections.ts';
import type { Prepared } from './request.ts';

/** What came of a request: the part of an attempt that is not time. */
export type Answer = Pick<Attempt, 'address' | 'status' | 'retryAfter' | 'excerpt' | 'error'>;

/** One request. */
export type Exchange = {
  start(): void;
  /** Ends it for this reason; the answer is what had come by then. Nothing when it has ended already. */
  end(reason: string): void;
  /** What it waits for. */
  stage(): 'look-up' | 'connection' | 'TLS handshake' | 'answer' | 'rest of the answer';
};

/**
 * Sends a request and reads the answer: to its end when it is short, so that it is known to be whole and the
 * connection serves again; a longer one is left at the bound, and its status counts. `done` is called once.
 *
 * A connection that was kept may have been closed by the receiver at the moment when the request went out. That is
 * seen as a connection that ends without a byte of an answer, and says nothing of the receiver: the request then goes
 * out once more, over a new connection. If the receiver did take the first one, it gets the same `webhook-id` twice.
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

  /** Whatever it is that arrives (informational answers, a status line without end, chunk extensions) is bounded. */
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
      if (status < 100) finish(`The answer is not valid HTTP (status ${status}).`, false);
      if (status === 101) finish(SWITCHED, false);
      if (status < 200 || ended) return;
      answer.status = status;
      if (typeof retryAfter === 'string') answer.retryAfter = retryAfter.slice(0, delivery.retryAfterLength);
    },
    onResponseData(_, chunk) {
      if (ended) return;
      const room = delivery.answerKeptBytes - bodyBytes;
      // A copy: the chunk shares its memory with all that was read together.
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

/** A character that the cut tore apart is left out; a NUL would not pass every store. */
function textOf(parts: Buffer[]): string {
  return new TextDecoder().decode(Buffer.concat(parts), { stream: true }).replaceAll('\0', '\uFFFD');
}
