import type { FastifyInstance } from 'fastify';
import { http as limits } from '../../limits.ts';

/** What a script may send and read beyond the fields that every script may. */
const SENT =
  'authorization, content-type, idempotency-key, if-none-match, last-event-id, traceparent, tracestate';
const READ =
  'etag, idempotent-replayed, link, location, ratelimit, ratelimit-policy, retry-after, www-authenticate, x-request-id';

/**
 * Lets scripts of pages from these origins call the API (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol). They
 * need a token, like any client: credentials of the browser are never asked for. To be called when the server has its
 * listener for requests, so that refusals at the door are readable, too.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const allowed = new Set<string | undefined>(origins);

  app.server.prependListener('request', ({ headers: { origin } }, response) => {
    // What is cached for one origin is not for another.
    response.setHeader('vary', 'origin');
    if (origin === undefined || !allowed.has(origin)) return;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', READ);
  });

  app.addHook('onRequest', ({ method, headers }, reply, done) => {
    const asksFirst = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
    if (asksFirst && allowed.has(headers.origin)) {
      reply
        .header('access-control-allow-methods', 'GET, POST, PATCH, DELETE')
        .header('access-control-allow-headers', SENT)
        .header('access-control-max-age', limits.preflightSeconds);
    }
    // It is answered like every OPTIONS.
    done();
  });
}
