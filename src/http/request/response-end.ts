import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isPipelined } from '../admission/pipelining.ts';

/** Calls back once: when the response is complete, or when its client has gone. */
export type OnEnd = (socket: Socket, response: ServerResponse, call: () => void) => void;

/**
 * Node does not close a response whose turn had not come when its connection closed. The pending responses of a
 * connection share one listener, since a client may send any number of requests over it.
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

/** The status of the response; undefined when the client left before all of it was sent. */
export function statusOf(response: ServerResponse): number | undefined {
  return response.writableFinished ? response.statusCode : undefined;
}
