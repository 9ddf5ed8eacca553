import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isPipelined } from '../admission/pipelining.ts';

/** Calls back once: when the answer is complete, or when nobody is there any more to take it. */
export type OnEnd = (socket: Socket, response: ServerResponse, call: () => void) => void;

/**
 * An answer whose turn never came, since its connection was closed before, is not closed by Node. Those of a connection
 * share one listener on it: a client may send as many requests over it as it likes.
 */
export function responseEnds(): OnEnd {
  const waitingOf = new WeakMap<Socket, Set<() => void>>();

  function waitingOn(socket: Socket): Set<() => void> {
    const known = waitingOf.get(socket);
    if (known) return known;
    const waiting = new Set<() => void>();
    waitingOf.set(socket, waiting);
    socket.once('close', () => {
      for (const end of waiting) end();
    });
    return waiting;
  }

  return (socket, response, call) => {
    if (!isPipelined(response)) {
      response.once('close', call);
      return;
    }
    const waiting = waitingOn(socket);
    const end = () => {
      if (waiting.delete(end)) call();
    };
    waiting.add(end);
    response.once('close', end);
  };
}

/** The status that was answered; undefined when the client left before the whole answer was sent. */
export function statusOf(response: ServerResponse): number | undefined {
  return response.writableFinished ? response.statusCode : undefined;
}
