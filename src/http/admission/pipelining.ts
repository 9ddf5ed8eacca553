import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../../limits.ts';

/**
 * Lets the requests of one connection go on one after the other, when a client sends the next ones without waiting for
 * answers: a request begins when the answer before it has left.
 *
 * - No request overtakes another: a DELETE after a POST finds what the POST created (RFC 9112 §9.3.2).
 * - A request after an answer that closes the connection never begins (RFC 9112 §9.6).
 * - No answer waits in memory: a client that asks for many lists and reads none costs no more than one.
 */
export function queuePipelines(): (response: ServerResponse, socket: Socket, resume: () => void) => void {
  const waiting = new WeakMap<Socket, number>();

  return (response, socket, resume) => {
    const ahead = waiting.get(socket) ?? 0;
    waiting.set(socket, ahead + 1);
    if (ahead >= limits.pipelinedRequests) socket.pause();
    response.once('socket', () => {
      const left = (waiting.get(socket) ?? 1) - 1;
      waiting.set(socket, left);
      if (left <= limits.pipelinedRequests && socket.isPaused()) socket.resume();
      resume();
    });
  };
}

/** Node gives the connection to the answer whose turn it is; nearly always that is the one just asked for. */
export function isPipelined(response: ServerResponse): boolean {
  return response.socket === null;
}
