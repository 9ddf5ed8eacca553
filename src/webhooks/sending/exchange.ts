import type { Dispatcher } from 'undici';
import { delivery } from '../../limits.ts';
import {
  type Attempt,
  codeOf,
  HEADER_TOO_LONG,
  isShortage,
  NOT_OPENED,
  reasonOf,
  SWITCHED,
} from './attempt.ts';
import type { Connection, Connections, Receiver } from './connections.ts';
import type { Prepared } from './request.ts';

/** The result of a request: an attempt without its times. */
export type Answer = Pick<Attempt, 'address' | 'status' | 'retryAfter' | 'excerpt' | 'error'>;

/**
 * Sends a request and reads the response. It reads a short response to its end, to know that it is complete and to
 * reuse the connection. It stops reading a longer one at the limit, and the status counts. Rejects only when this
 * machine is out of what a new connection needs.
 *
 * The receiver may have closed a reused connection just as the request was sent. Then the connection ends without a
 * byte of a response, which says nothing about the receiver, so the request is sent once more over a new connection.
 * If the receiver did accept the first one, it gets the same `webhook-id` twice.
 *
 * @param ms from the lookup of the name to the end of the response
 */
export function exchange(
  connections: Connections,
  receiver: Receiver,
  { headers, body }: Prepared,
  ms: number,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = { path: receiver.path, method: 'POST', headers, body } as const;
  const answer: Answer = {};
  let connection = connections.take(receiver);
  let sent = false;
  let begun = false;
  let ended = false;
  let readBefore = 0;
  let bodyBytes = 0;
  let length: number | undefined;
  const kept: Buffer[] = [];

  function finish(error: string | undefined, isWhole: boolean): void {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    if (connection.address !== undefined) answer.address = connection.address;
    if (kept.length > 0) answer.excerpt = textOf(kept);
    if (error !== undefined) {
      answer.error = error;
      // The receiver may be unable to resume it.
      receiver.session = undefined;
    }
    if (isWhole) connections.giveBack(connection);
    else connections.close(connection);
    resolve(answer);
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
    onResponseStart(_, status, { 'content-length': said, 'retry-after': retryAfter }) {
      if (status < 100) finish(`The response is not valid HTTP (status ${status}).`, false);
      if (status === 101) finish(SWITCHED, false);
      if (status < 200 || ended) return;
      answer.status = status;
      length = Number(said);
      if (typeof retryAfter === 'string')
        answer.retryAfter = retryAfter.trim().slice(0, delivery.retryAfterLength);
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
      // The call of `finish` then only cleans up.
      if (!sent && isShortage(error)) reject(error);
      const code = codeOf(error);
      // The client counts a space after the length as a digit of it.
      if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && bodyBytes === length)
        return finish(undefined, false);
      const isClosed = CLOSED.has(code);
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
    connection.carried = { onRead, end: (reason) => finish(reason, false) };
    connection.client.dispatch(options, handler);
  }

  /** What has not happened yet. */
  function missing(): string {
    if (answer.status !== undefined) return 'There was no complete response';
    return sent ? 'There was no response' : unopened(connection);
  }

  // After a suspension of this process, what arrived meanwhile is read first.
  const late = () => setImmediate(() => finish(`${missing()} within ${ms / 1000} s.`, false));
  const timer = setTimeout(late, ms);
  start();
  return promise;
}

const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

function unopened({ address, socket }: Connection): string {
  if (address === undefined) return 'The name of the receiver was not resolved';
  if (socket?.connecting ?? true) return 'The receiver did not accept the connection';
  return 'The receiver did not complete the TLS handshake';
}

/** Drops a character that the limit cut in two, and replaces NUL, which not every store accepts. */
function textOf(parts: Buffer[]): string {
  return new TextDecoder().decode(Buffer.concat(parts), { stream: true }).replaceAll('\0', '\uFFFD');
}
