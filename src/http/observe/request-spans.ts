import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { type Span, type SpanResult, type Tracer, traceOf } from '../../tracing/port.ts';
import { asksHealth } from '../admission/door.ts';
import { routeOf, statusOf } from './request-watch.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined when the request is not traced. */
    span: Span | undefined;
  }
}

/**
 * Creates a span for each request to the routes registered after this call, from its header fields to the end of its
 * response. It continues the client's trace (W3C Trace Context). Health checks have none.
 */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
    if (!asksHealth(request.raw)) {
      const span = begin(tracer, request);
      request.span = span;
      reply.raw.once('close', () => span.end(resultOf(reply)));
    }
    done();
  });
}

/** Contains the matched route, never the requested path, which may contain anything. */
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
      // Set late, by the hook that checks the token.
      'plant_store.user.id': request.principal?.user.id,
    },
    failure: status !== undefined && status >= 500 ? { type: String(status) } : undefined,
  };
}
