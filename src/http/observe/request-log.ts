import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { observability as limits } from '../../limits.ts';
import type { EndedRequest } from '../../observability/port.ts';
import { throttle } from '../../runtime.ts';
import { readTraceparent, traceIdOf } from '../../tracing/port.ts';

/** What every log line about a request contains: its id and, if there is a trace, the trace's id. */
export function linesOf({ id, raw, span }: FastifyRequest): { reqId: string; traceId?: string } {
  const traceId = span ? traceIdOf(span.trace) : readTraceparent(raw.headers.traceparent)?.traceId;
  return traceId === undefined ? { reqId: id } : { reqId: id, traceId };
}

/**
 * Limits how often a line is written, so that many lines do not slow the service. The next line says how many were
 * omitted: `untold`, if any.
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

/**
 * Logs ended requests: all of them at `debug`, slow ones at `info`. Logs a route's pattern instead of the requested path:
 * paths and queries may contain anything.
 */
export function createRequestLog(log: FastifyBaseLogger, now: () => number) {
  const tellsAll = log.level === 'debug';
  const tellSlow = slowLines(now);

  return {
    /** Whether the level logs anything. */
    tellsAny: tellsAll || log.level === 'info',
    /** Whether a request of this duration is logged, so that most need not be described. */
    tells: (durationMs: number) => tellsAll || durationMs >= limits.slowRequestMs,
    tell(request: FastifyRequest, ended: EndedRequest): void {
      if (ended.durationMs >= limits.slowRequestMs && !isEndless(request))
        tellSlow((untold) => log.info({ ...aboutOf(request, ended), ...untold }, 'slow request'));
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
    // Set late, by the hook that checks the token.
    user: request.principal?.user.name,
  };
}

/** A stream of events lasts as long as its client wants. */
function isEndless({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === '/events/stream';
}
