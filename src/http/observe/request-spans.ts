import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { type Span, type SpanResult, type Tracer, traceOf } from '../../tracing/port.ts';
import { asksHealth } from '../admission/door.ts';
import { responseEnds, statusOf } from '../request/response-end.ts';
import { routeOf } from './request-watch.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined when it is not traced. */
    span: Span | undefined;
  }
}

/**
 * Makes a span of each request that is registered after this one, from its header fields to the end of its answer. It
 * continues the trace that the client is in (W3C Trace Context). Questions about the health of the service have none.
 */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  const onEnd = responseEnds();
  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
    if (!asksHealth(request.raw)) {
      const span = begin(tracer, request);
      request.span = span;
      onEnd(request.raw.socket, reply.raw, () => span.end(resultOf(reply)));
    }
    done();
  });
}

/** Nothing of the path as it came, which may hold anything: only the route that it led to. */
function begin(tracer: Tracer, request: FastifyRequest): Span {
  const { id, method, headers } = request;
  const route = routeOf(request);
  return tracer.begin('server', route === undefined ? method : `${method} ${route}`, traceOf(headers), {
    'http.request.method': method,
    'http.route': route,
    'url.scheme': 'http',
    'plant_store.request.id': id,
  });
}

function resultOf({ raw, request }: FastifyReply): SpanResult {
  const status = statusOf(raw);
  return {
    attributes: {
      'http.response.status_code': status,
      // Set late, by the hook that looks at the token.
      'plant_store.user.id': request.principal?.user.id,
    },
    failure: status !== undefined && status >= 500 ? { type: String(status) } : undefined,
  };
}
