import type { IncomingMessage } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { KeyStore } from '../idempotency/port.ts';
import { http as limits } from '../limits.ts';
import type { Measures } from '../observability/port.ts';
import { type Clock, steadyClock } from '../runtime.ts';
import type { Tracer } from '../tracing/port.ts';
import type { AllowedNetworks } from '../webhooks/sending/addresses.ts';
import { limitFailures } from './admission/auth-failures.ts';
import { finishAnswersFirst, isPipelined } from './admission/connection.ts';
import { shareConnections } from './admission/connection-share.ts';
import { allowOrigins } from './admission/cross-origin.ts';
import { asksHealth, refuseAtTheDoor } from './admission/door.ts';
import { HttpRequest } from './admission/http-request.ts';
import { sendToReaders } from './admission/list-readers.ts';
import { limitRate, type Rate } from './admission/rate-limit.ts';
import { closeStalledReaders } from './admission/stalled-readers.ts';
import { gatherTurns, type Turns } from './admission/turn.ts';
import { traceRequests } from './observe/request-spans.ts';
import { watchRequests } from './observe/request-watch.ts';
import { answerParserFailure } from './observe/socket-failures.ts';
import { healthRoutes, pagesRoutes } from './pages/pages-routes.ts';
import { serveSites } from './pages/sites.ts';
import type { Admission } from './request/authorization.ts';
import { acceptExpectations, acceptJsonOnly } from './request/body.ts';
import { answerFailure } from './request/failures.ts';
import { acceptIdempotencyKeys } from './request/idempotency.ts';
import { answerOtherPaths } from './request/paths.ts';
import { requestGuard } from './request/request-guard.ts';
import { createValidatorCompiler } from './request/validation.ts';
import { deliveriesRoutes } from './routes/deliveries-routes.ts';
import { eventsRoutes } from './routes/events-routes.ts';
import { plantsRoutes } from './routes/plants-routes.ts';
import { type RouteContext, routesOn } from './routes/route.ts';
import { tokensRoutes } from './routes/tokens-routes.ts';
import { webhooksRoutes } from './routes/webhooks-routes.ts';

export type ServerOptions = Pick<
  RouteContext,
  'access' | 'authenticate' | 'plants' | 'webhooks' | 'runtime' | 'cursors' | 'drain'
> & {
  keys: KeyStore;
  /** False for a replica that only sends webhooks: it answers only health checks. */
  answersApi: boolean;
  /** Undefined for no limit. */
  rateLimit: Rate | undefined;
  /** Allowed failed authentications of one client per minute; 0 for no limit. */
  authFailureLimit: number;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  trustProxy: AllowedNetworks;
  /** Origins of pages that may call the API. */
  corsOrigins: readonly string[];
  /** The public URL; undefined when it is where the service listens. */
  publicUrl: string | undefined;
  log: FastifyBaseLogger | undefined;
  /** Undefined when metrics are off. */
  measures: Measures | undefined;
  /** Undefined when traces are off. */
  tracer: Tracer | undefined;
  checkStore(): void;
  /** Whether the store would refuse a write now; such requests are refused before they are read. */
  writesAreFull(): boolean;
  /** `Store.refresh` */
  refresh(): void;
};

/** Builds the HTTP service: every route, and the Error object for every failure. */
export async function buildServer(options: ServerOptions): Promise<FastifyInstance> {
  const app = createFastify(options);
  const basePath = options.publicUrl ? new URL(options.publicUrl).pathname.replace(/\/$/, '') : '';

  app.setValidatorCompiler(createValidatorCompiler());
  app.setErrorHandler((error, request, reply) =>
    answerFailure(error, request, reply, options.measures?.failed),
  );
  app.decorateRequest('principal');
  app.decorateRequest('span', undefined);
  watchRequests(app, options, () => performance.now());
  // Before the requests wait for their turn, which counts towards their duration.
  if (options.tracer) traceRequests(app, options.tracer);
  const turns = takeTurns(app, options);
  allowOrigins(app, options.corsOrigins);
  app.addHook('onRequest', requestGuard(options.drain));
  answerOtherPaths(
    app,
    options.answersApi ? 'the paths are listed at /docs/api' : 'this replica only sends webhooks',
  );
  acceptJsonOnly(app);
  acceptIdempotencyKeys(app, options);
  acceptExpectations(app.server);
  closeStalledReaders(app.server, () => performance.now());
  finishAnswersFirst(app.server, options.drain);
  shareConnections(app.server, limits.connections, options.trustProxy);

  const context: RouteContext = {
    ...options,
    sendParts: sendToReaders(turns.later, options.measures),
    basePath,
    ...routesOn(app, admissionOf(options)),
  };
  healthRoutes(app, options.checkStore);
  if (!options.answersApi) return app;
  plantsRoutes(context);
  webhooksRoutes(context);
  deliveriesRoutes(context);
  eventsRoutes(context);
  tokensRoutes(context);
  pagesRoutes(app, basePath, options.publicUrl);
  await serveSites(app, basePath);
  return app;
}

function admissionOf(options: ServerOptions): Admission {
  const { authenticate, rateLimit, authFailureLimit: limit, trustProxy, runtime } = options;
  const clock = steadyClock(runtime.clock);
  return {
    admit: limitFailures({ authenticate, limit, trustProxy, clock }),
    countRequest: rateLimit && limitRate(rateLimit, clock),
  };
}

function takeTurns(app: FastifyInstance, { drain, writesAreFull, refresh, measures }: ServerOptions): Turns {
  const turns = gatherTurns(() => performance.now(), refresh);
  app.server.on('connection', turns.connected);
  refuseAtTheDoor(app.server, { turns, writesAreFull, isDraining: () => drain.aborted, measures });
  app.addHook('onRequest', ({ raw }, { raw: response }, done) => {
    const { socket } = raw;
    const waiting = { resume: done, socket, at: 0 };
    if (isPipelined(response)) response.once('socket', () => turns.hold(waiting));
    else if (asksHealth(raw)) turns.holdFirst(done);
    else turns.hold(waiting);
  });
  return turns;
}

function createFastify({ log, runtime, measures }: ServerOptions): FastifyInstance {
  const app = Fastify({
    ...(log ? { loggerInstance: log } : {}),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIds(runtime.clock),
    // A child logger per request would cost a microsecond; log lines name the request id themselves.
    childLoggerFactory: (logger) => logger,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    http: {
      IncomingMessage: HttpRequest,
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      maxHeaderSize: limits.headerBytes,
      requireHostHeader: false,
    },
    // Beyond any URL, so that the request guard refuses a long one.
    routerOptions: { maxParamLength: limits.headerBytes, querystringParser: (search) => search as never },
    // Otherwise Fastify would load its own, a tenth of every start.
    schemaController: { compilersFactory: { buildValidator: unneeded, buildSerializer: unneeded } },
    rewriteUrl,
    // These have passed no hook.
    frameworkErrors: (error, request, reply) => answerFailure(error, request, reply, measures?.refused),
    clientErrorHandler: (error, socket) => answerParserFailure(error, socket, measures),
  });
  app.server.maxConnections = limits.connections;
  // Only their size is limited, as documented.
  app.server.maxHeadersCount = 0;
  // A client that has sent everything still waits for its response.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  // Fastify would read the body of a DELETE; the request guard handles bodies without a meaning.
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  return app;
}

/** `buildServer` sets our own validator, and no route has a schema for its responses. */
function unneeded(): never {
  throw new Error('Fastify compiles no schemas.');
}

/** Ids that are unique across restarts, so that a log distinguishes all requests. */
function requestIds(clock: Clock): () => string {
  const start = clock.now().toString(36);
  let count = 0;
  return () => `${start}-${++count}`;
}

/**
 * The path for the router. A target in absolute form (RFC 9112 §3.2.2) contains one; CONNECT's has none. The request
 * guard refuses malformed targets.
 */
function rewriteUrl({ method, url = '/' }: IncomingMessage): string {
  if (url.startsWith('/') || url === '*') return url;
  if (method === 'CONNECT') return '*';
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}
