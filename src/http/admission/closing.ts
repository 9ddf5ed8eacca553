import { IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../../limits.ts';
import { isPipelined } from './pipelining.ts';

/** What Node keeps at a connection: the answer being sent, until the system has taken all of it, and the parser. */
export type Connection = Socket & {
  _httpMessage?: ServerResponse | null;
  parser?: { incoming: IncomingMessage | null; getCurrentBuffer(): Buffer } | null;
};

/** What is said after the answers, to a client that did not manage to send the next request. */
type LastWords = () => string;

/** Connections that end after the answers that are due. */
const closing = new WeakMap<Socket, { lastWords: LastWords | undefined }>();

/** The newest answer of a connection, where it is not the one being sent. */
const queued = new WeakMap<Socket, ServerResponse>();

/** Methods whose body means nothing here. */
const BODYLESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/**
 * A request that never leaves HTTP/1.1. Node would hand over the connection as soon as it reads CONNECT, before the
 * earlier requests are answered. With this class CONNECT is a request like any other, and `Upgrade` is ignored, as RFC
 * 9110 §7.8 allows.
 */
export class HttpRequest extends IncomingMessage {
  get upgrade(): boolean {
    return false;
  }

  set upgrade(_asked: boolean) {}
}

/**
 * Must be called for each request, in their order. After one whose end is uncertain the connection is closed: what
 * follows may be another protocol, of which Node has dropped an unknown part, or a body that the service does not read.
 */
export function noteRequest(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  if (isPipelined(response)) queued.set(socket, response);
  if (isLast(request)) closeAfterAnswers(socket);
}

function isLast({ method = '', headers }: IncomingMessage): boolean {
  const { upgrade, connection } = headers;
  return (
    method === 'CONNECT' ||
    upgrade !== undefined ||
    (connection !== undefined && connection !== 'keep-alive' && /\bupgrade\b/i.test(connection)) ||
    (BODYLESS.has(method) && announcesBody(headers))
  );
}

function announcesBody(headers: IncomingMessage['headers']): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/**
 * Closes a connection after the answers to all requests that arrived. Without last words the newest answer carries
 * `Connection: close` if it is not sent yet, no request after it begins, and nothing is said after it.
 */
export function closeAfterAnswers(socket: Connection, lastWords?: LastWords): void {
  const newest = newestAnswer(socket);
  if (!lastWords && newest && !newest.headersSent) newest.shouldKeepAlive = false;
  const known = closing.get(socket);
  if (known) {
    known.lastWords &&= lastWords;
    return;
  }
  closing.set(socket, { lastWords });
  if (newest) newest.once('close', () => socket.destroySoon());
  else socket.destroySoon();
}

/** The last answer that the client of a connection waits for. */
function newestAnswer(socket: Connection): ServerResponse | undefined {
  const waiting = queued.get(socket);
  return waiting && !waiting.closed ? waiting : (socket._httpMessage ?? undefined);
}

/** The request whose body is still to come. */
export function unfinishedRequest({ parser }: Connection): IncomingMessage | undefined {
  const request = parser?.incoming;
  return request && !request.complete ? request : undefined;
}

/**
 * Closes the connection so that the client can read its answers: they go out, what still arrives is thrown away for a
 * bounded time and size, then the connection is closed. Closing at once would reset it while the client is still
 * sending, and the reset can overtake the answers.
 */
function lingerBeforeClose(socket: Socket): void {
  const close = () => socket.destroy();
  // Node calls this after an answer with `Connection: close`, and after the last answer to a client that half-closed.
  socket.destroySoon = () => {
    socket.destroySoon = () => {};
    if (socket.destroyed) return;
    socket.end(closing.get(socket)?.lastWords?.() ?? '');
    const timer = setTimeout(close, limits.lingerMs);
    let received = 0;
    // The parser listens no more.
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > limits.lingerBytes) close();
    });
    socket.once('end', close);
    socket.once('close', () => clearTimeout(timer));
    socket.resume();
  };
}

/**
 * Lets answers that are under way when the service drains arrive whole, and tells their clients that the connection
 * ends with them.
 */
export function finishAnswersFirst(server: Server, drain: AbortSignal): void {
  const connections = new Set<Connection>();
  server.on('connection', (socket: Connection) => {
    lingerBeforeClose(socket);
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });

  keepUnsentAnswers(server, connections);
  drain.addEventListener('abort', () => {
    for (const socket of connections) {
      const answer = newestAnswer(socket);
      if (answer && !answer.headersSent) answer.shouldKeepAlive = false;
    }
  });
}

/**
 * Makes `closeIdleConnections` spare connections whose answer is not sent yet. Node calls a connection idle as soon as
 * its answer was handed over, and closes it although most of a long answer is still to be sent. It looks at `finished`
 * of the answer, so that says no for as long as Node looks; the tests tell whether it still does.
 */
export function keepUnsentAnswers(server: Server, connections: ReadonlySet<Connection>): void {
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const unsent = [...connections].flatMap(({ _httpMessage: answer, writableLength }) =>
      answer?.finished && writableLength > 0 ? [answer] : [],
    );
    for (const answer of unsent) answer.finished = false;
    closeIdle();
    for (const answer of unsent) answer.finished = true;
  };
}
