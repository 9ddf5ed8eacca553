import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { EndedRequest, Measures } from '../../observability/port.ts';
import { responseEnds, statusOf } from '../request/response-end.ts';
import { createRequestLog } from './request-log.ts';

export type WatchOptions = {
  log: FastifyBaseLogger | undefined;
  measures: Measures | undefined;
  /** In milliseconds, of a clock that never goes back. */
  now(): number;
};

/** Times each request to the routes registered after this call, from its header fields to the end of its response. */
export function watchRequests(app: FastifyInstance, { log, measures, now }: WatchOptions): void {
  const lines = log && createRequestLog(log, now);
  if (!measures && !lines?.tellsAny) return;
  const onEnd = responseEnds();

  app.addHook('onRequest', (request, { raw: response }, done: HookHandlerDoneFunction) => {
    const begin = now();
    measures?.requestBegan();
    onEnd(request.raw.socket, response, () => {
      const durationMs = now() - begin;
      // True of nearly all requests when nothing is measured: stop here.
      if (!measures && !lines?.tells(durationMs)) return;
      const ended: EndedRequest = {
        method: request.method,
        route: routeOf(request),
        status: statusOf(response),
        durationMs,
      };
      measures?.requestEnded(ended);
      if (lines?.tells(durationMs)) lines.tell(request, ended);
    });
    done();
  });
}

/** Few values, whatever is requested: the files of a site count as one route. */
export function routeOf({ is404, routeOptions: { url } }: FastifyRequest): string | undefined {
  if (is404 || url === undefined) return undefined;
  const site = SITES.find((each) => url.startsWith(each));
  return site === undefined ? url : `${site}/*`;
}

const SITES = ['/console', '/docs'];
