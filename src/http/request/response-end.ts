import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isPipelined } from '../admission/pipelining.ts';

/** What to call when the connection closes, for its pending responses whose turn has not come. */
const pending = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls back once: when the response is complete, or when its client has gone. Node does not close a response whose
 * turn had not come when its connection closed. The pending responses of a connection share one listener, since a
 * client may send any number of requests over it.
 */
export function onResponseEnd(response: ServerResponse, call: () => void): void {
  if (!isPipelined(response)) {
    response.once('close', call);
    return;
  }
  const waiting = pendingOn(response.req.socket);
  const end = () => {
    if (waiting.delete(end)) call();
  };
  waiting.add(end);
  response.once('close', end);
}

function pendingOn(socket: Socket): Set<() => void> {
  const known = pending.get(socket);
  if (known) return known;
  const waiting = new Set<() => void>();
  pending.set(socket, waiting);
  socket.once('close', () => {
    for (const end of waiting) end();
  });
  return waiting;
}

/** The status of the response; undefined when the client left before all of it was sent. */
export function statusOf(response: ServerResponse): number | undefined {
  return response.writableFinished ? response.statusCode : undefined;
}
