import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../../limits.ts';

/** How many requests of a connection wait for the response before theirs. */
const waiting = new WeakMap<Socket, number>();

/**
 * Runs the requests of one connection one after the other when a client pipelines them: calls back when the response
 * before this one has been sent.
 * - No request overtakes another: a DELETE after a POST finds what the POST created (RFC 9112 §9.3.2).
 * - No request begins after a response that closes the connection (RFC 9112 §9.6).
 * - No response waits in memory: a client that requests many lists and reads none costs no more than one list.
 */
export function waitInPipeline(response: ServerResponse, resume: () => void): void {
  const { socket } = response.req;
  const ahead = waiting.get(socket) ?? 0;
  waiting.set(socket, ahead + 1);
  if (ahead >= limits.pipelinedRequests) socket.pause();
  response.once('socket', () => {
    const left = (waiting.get(socket) ?? 1) - 1;
    waiting.set(socket, left);
    if (left <= limits.pipelinedRequests && socket.isPaused()) socket.resume();
    resume();
  });
}

/** Node assigns the connection to the response whose turn it is; that is nearly always the current one. */
export function isPipelined(response: ServerResponse): boolean {
  return response.socket === null;
}
