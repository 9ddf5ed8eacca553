import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../../limits.ts';

/** Node's fields on a connection: the response being sent, until the system has taken all of it, and the parser. */
export type Connection = Socket & {
  _httpMessage?: ServerResponse | null;
  parser?: { incoming: IncomingMessage | null; getCurrentBuffer(): Buffer } | null;
};

/** The responses of a connection that wait for the one before theirs, oldest first. */
const queues = new WeakMap<Socket, ServerResponse[]>();
/** How many there are on all connections. */
let waiting = 0;

/** The text sent after the last response, to a client whose next request could not be read. */
type LastWords = () => string;

/** Connections that close after their pending responses. */
const closing = new WeakMap<Socket, LastWords | undefined>();

/** Methods whose body has no meaning here. */
const BODYLESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/**
 * Must be called for each request, in order. After a request whose end is uncertain, the connection is closed: what
 * follows may be another protocol, of which Node has dropped an unknown part, or a body that the service does not
 * read.
 */
export function noteRequest(request: IncomingMessage, response: ServerResponse): void {
  queueResponse(response);
  if (isLast(request)) closeAfterAnswers(request.socket);
}

/**
 * When a client pipelines, `takeTurns` begins a request once the response before its own has been sent.
 * - No request overtakes another: a DELETE after a POST finds what the POST created (RFC 9112 §9.3.2).
 * - No request begins after a response that closes the connection (RFC 9112 §9.6).
 * - No response waits in memory: a client that requests many lists and reads none costs no more than one list.
 */
function queueResponse(response: ServerResponse): void {
  if (!isPipelined(response)) return;
  const { socket } = response.req;
  const queue = queues.getOrInsertComputed(socket, createQueue);
  waiting++;
  queue.push(response);
  response.once('socket', () => {
    if (queue.shift()) waiting--;
  });
}

/**
 * When a connection closes, Node 26.0 closes only the response whose turn it is. One listener closes all others, since a
 * client may send any number of requests. Later versions close them, too, once more.
 */
function createQueue(socket: Socket): ServerResponse[] {
  const queue: ServerResponse[] = [];
  socket.once('close', () => {
    waiting -= queue.length;
    for (const response of queue.splice(0)) response.emit('close');
  });
  return queue;
}

/**
 * Whether a connection has its share of the requests that may wait on all connections. The fewer places are free, the
 * smaller the share.
 */
export function exceedsShare(socket: Socket): boolean {
  const own = queues.get(socket)?.length ?? 0;
  const free = limits.waitingRequests - waiting;
  return own > limits.pipelinedRequests && own >= free * limits.waitingShare;
}

/** Node assigns the connection to the response whose turn it is; that is nearly always the current one. */
export function isPipelined(response: ServerResponse): boolean {
  return response.socket === null;
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
 * Closes a connection after responding to all requests that arrived. Without last words, the newest response carries
 * `Connection: close` if it is not sent yet, no further request begins, and nothing follows it.
 */
export function closeAfterAnswers(socket: Connection, lastWords?: LastWords): void {
  const newest = newestAnswer(socket);
  if (!lastWords && newest && !newest.headersSent) newest.shouldKeepAlive = false;
  const isClosing = closing.has(socket);
  closing.set(socket, isClosing ? closing.get(socket) && lastWords : lastWords);
  if (isClosing) return;
  if (newest) newest.once('close', () => socket.destroySoon());
  else socket.destroySoon();
}

/** The last response that the client of a connection waits for. */
function newestAnswer(socket: Connection): ServerResponse | undefined {
  return queues.get(socket)?.at(-1) ?? socket._httpMessage ?? undefined;
}

/** The request whose body is incomplete. */
export function unfinishedRequest({ parser }: Connection): IncomingMessage | undefined {
  const request = parser?.incoming;
  return request && !request.complete ? request : undefined;
}

/**
 * Closes the connection so that the client can read its responses: they are sent, further input is discarded for a
 * bounded time and size, then the connection closes. Closing at once would reset it while the client is still
 * sending, and the reset can overtake the responses.
 */
function lingerBeforeClose(socket: Socket): void {
  const close = () => socket.destroy();
  // Node calls this after a response with `Connection: close`, and after the last response to a client that
  // half-closed.
  socket.destroySoon = () => {
    socket.destroySoon = () => {};
    if (socket.destroyed) return;
    socket.end(closing.get(socket)?.() ?? '');
    const timer = setTimeout(close, limits.lingerMs);
    let received = 0;
    // The parser no longer listens.
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
 * When the service drains, completes the responses in progress and tells their clients that the connection then
 * closes.
 */
export function finishAnswersFirst(server: Server, drain: AbortSignal): void {
  const connections = new Set<Connection>();
  server.on('connection', (socket: Connection) => {
    lingerBeforeClose(socket);
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });

  keepUnsentAnswers(server, connections);
  resetUnfinishedAnswers(server, connections);
  drain.addEventListener('abort', () => {
    for (const socket of connections) {
      const answer = newestAnswer(socket);
      if (answer && !answer.headersSent) answer.shouldKeepAlive = false;
    }
  });
}

/**
 * Makes `closeIdleConnections` spare connections whose response is not fully sent. Node treats a connection as idle
 * as soon as the response is handed over, and closes it although most of a long response is unsent. It checks the
 * response's `finished`, which therefore reads false during that call. Tests verify that Node still does so.
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

/**
 * Makes `closeAllConnections`, the end of a drain that takes too long, reset connections with an unfinished response.
 * A list to an HTTP/1.0 client ends with its connection: closed, a truncated one would look complete.
 */
function resetUnfinishedAnswers(server: Server, connections: ReadonlySet<Connection>): void {
  const closeAll = server.closeAllConnections.bind(server);
  server.closeAllConnections = () => {
    for (const socket of connections) if (newestAnswer(socket)) socket.resetAndDestroy();
    closeAll();
  };
}
