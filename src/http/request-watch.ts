import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { EndedRequest, Measures } from '../measures.ts';
import { isPipelined } from './pipelining.ts';
import { createRequestLog } from './request-log.ts';

export type WatchOptions = {
  log: FastifyBaseLogger | undefined;
  measures: Measures | undefined;
  /** In milliseconds, by a clock that never goes back. */
  now(): number;
};

/** Takes the time of each request that is registered after this one, from its header fields to the end of its answer. */
export function watchRequests(app: FastifyInstance, { log, measures, now }: WatchOptions): void {
  const lines = log && createRequestLog(log, now);
  if (!measures && !lines?.tellsAny) return;
  const endWithConnection = connectionEnds();

  app.addHook('onRequest', (request, { raw: response }, done: HookHandlerDoneFunction) => {
    const begin = now();
    measures?.requestBegan();
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      const durationMs = now() - begin;
      // That of nearly all requests when nobody measures: nothing more is done for them.
      if (!measures && !lines?.tells(durationMs)) return;
      const status = response.writableFinished ? response.statusCode : undefined;
      const ended: EndedRequest = { method: request.method, route: routeOf(request), status, durationMs };
      measures?.requestEnded(ended);
      if (lines?.tells(durationMs)) lines.tell(request, ended);
    };
    if (isPipelined(response)) endWithConnection(request.raw.socket, response, end);
    response.once('close', end);
    done();
  });
}

/**
 * An answer whose turn never came, since its connection was closed before, is not closed by Node. One listener for all
 * of a connection: there may be hundreds.
 */
function connectionEnds() {
  const endsOf = new WeakMap<Socket, Set<() => void>>();
  return (
    socket: Socket,
    response: { once(event: 'close', listener: () => void): void },
    end: () => void,
  ) => {
    const ends = endsOf.get(socket) ?? new Set();
    if (!endsOf.has(socket)) {
      endsOf.set(socket, ends);
      socket.once('close', () => {
        for (const each of ends) each();
      });
    }
    ends.add(end);
    response.once('close', () => ends.delete(end));
  };
}

/** Few, whatever is asked for: the files of a site count as one route. */
export function routeOf({ is404, routeOptions: { url } }: FastifyRequest): string | undefined {
  if (is404 || url === undefined) return undefined;
  const site = SITES.find((each) => url.startsWith(each));
  return site === undefined ? url : `${site}/*`;
}

const SITES = ['/console', '/docs'];
