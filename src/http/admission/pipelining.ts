import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../../limits.ts';

/** The responses of a connection that wait for the one before theirs, oldest first. */
const queues = new WeakMap<Socket, ServerResponse[]>();
/** How many there are on all connections. */
let waiting = 0;

/**
 * Must be called for each request, in order. When a client pipelines, `takeTurns` begins a request once the response
 * before its own has been sent. While more than a few wait, nothing more is read from the connection.
 * - No request overtakes another: a DELETE after a POST finds what the POST created (RFC 9112 §9.3.2).
 * - No request begins after a response that closes the connection (RFC 9112 §9.6).
 * - No response waits in memory: a client that requests many lists and reads none costs no more than one list.
 */
export function queueResponse(response: ServerResponse): void {
  if (!isPipelined(response)) return;
  const { socket } = response.req;
  const queue = queues.getOrInsertComputed(socket, createQueue);
  waiting++;
  if (queue.push(response) > limits.pipelinedRequests) socket.pause();
  response.once('socket', () => {
    if (queue.shift()) waiting--;
    if (queue.length <= limits.pipelinedRequests && socket.isPaused()) socket.resume();
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
 * Whether a connection has its share of the requests that may wait on all connections. What it sent in one piece is
 * parsed although it is paused: more than two thousand requests. The fewer places are free, the smaller the share.
 */
export function exceedsShare(socket: Socket): boolean {
  const own = queues.get(socket)?.length ?? 0;
  const free = limits.waitingRequests - waiting;
  return own > limits.pipelinedRequests && own >= free * limits.waitingShare;
}

/** The newest waiting response of a connection. */
export function newestQueued(socket: Socket): ServerResponse | undefined {
  return queues.get(socket)?.at(-1);
}

/** Node assigns the connection to the response whose turn it is; that is nearly always the current one. */
export function isPipelined(response: ServerResponse): boolean {
  return response.socket === null;
}
