import type { ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { EndedRequest, Measures } from '../../observability/port.ts';
import { createRequestLog } from './request-log.ts';

/**
 * Times each request to the routes registered after this call, from its header fields to the end of its response.
 * @param now in milliseconds, of a clock that never goes back
 */
export function watchRequests(
  app: FastifyInstance,
  { log, measures }: { log: FastifyBaseLogger | undefined; measures: Measures | undefined },
  now: () => number,
): void {
  const lines = log && createRequestLog(log, now);
  if (!measures && !lines?.tellsAny) return;
  app.addHook('onRequest', (request, { raw: response }, done: HookHandlerDoneFunction) => {
    const begin = now();
    measures?.requestBegan();
    response.once('close', () => {
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

/** The status of the response; undefined when the client left before all of it was sent. */
export function statusOf(response: ServerResponse): number | undefined {
  return response.writableFinished ? response.statusCode : undefined;
}

/** Few values, whatever is requested: the files of a site count as one route. */
export function routeOf({ is404, routeOptions: { url } }: FastifyRequest): string | undefined {
  if (is404 || url === undefined) return undefined;
  const site = SITES.find((each) => url.startsWith(each));
  return site === undefined ? url : `${site}/*`;
}

const SITES = ['/console', '/docs'];
