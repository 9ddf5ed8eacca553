import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { observability as limits } from '../../limits.ts';
import type { EndedRequest } from '../../observability/port.ts';
import { throttle } from '../../runtime.ts';
import { readTraceparent, type Span, traceIdOf } from '../../tracing/port.ts';

/** What every line about a request says of it: its id and, if it or its client is in a trace, the id of that. */
export function linesOf({
  id,
  raw,
  span,
}: Pick<FastifyRequest, 'id' | 'raw'> & { span?: Span | undefined }): {
  reqId: string;
  traceId?: string;
} {
  const traceId = span ? traceIdOf(span.trace) : readTraceparent(raw.headers.traceparent)?.traceId;
  return traceId === undefined ? { reqId: id } : { reqId: id, traceId };
}

/**
 * Lets a line be written now and then only, so that many of them do not make the service slower. The next one says how
 * many were not written: `untold`, where there are any.
 */
export function slowLines(now: () => number): (write: (untold: { untold?: number }) => void) => void {
  const isTold = throttle(limits.slowLineMs, now);
  let untold = 0;

  return (write) => {
    if (!isTold()) {
      untold++;
      return;
    }
    write(untold > 0 ? { untold } : {});
    untold = 0;
  };
}

/** Tells the log of requests that have ended: of each at `debug`, at `info` of those that took long. */
export type RequestLog = {
  /** Whether the level is one at which anything is told. */
  tellsAny: boolean;
  /** Whether it would be told of a request that took so long: most need not be described. */
  tells(durationMs: number): boolean;
  tell(request: FastifyRequest, ended: EndedRequest): void;
};

/** Of the path that was asked for only the pattern of its route: a path and a query may hold anything. */
export function createRequestLog(log: FastifyBaseLogger, now: () => number): RequestLog {
  const tellsAll = log.level === 'debug' || log.level === 'trace';
  const tellSlow = slowLines(now);

  return {
    tellsAny: tellsAll || log.level === 'info',
    tells: (durationMs) => tellsAll || durationMs >= limits.slowRequestMs,
    tell(request, ended) {
      if (ended.durationMs >= limits.slowRequestMs && !isEndless(request))
        tellSlow((untold) => log.info({ ...aboutOf(request, ended), ...untold }, 'a request took long'));
      else if (tellsAll) log.debug(aboutOf(request, ended), 'a request ended');
    },
  };
}

function aboutOf(request: FastifyRequest, { method, route, status, durationMs }: EndedRequest) {
  return {
    ...linesOf(request),
    method,
    route,
    status,
    durationMs: Math.round(durationMs * 1000) / 1000,
    // Set late, by the hook that looks at the token.
    user: request.principal?.user.name,
  };
}

/** A stream of events lasts as long as its client likes. */
function isEndless({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === '/events/stream';
}
