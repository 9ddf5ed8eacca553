import type { IncomingMessage } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Authenticate } from '../access/authentication.ts';
import { http as limits } from '../limits.ts';
import type { Clock } from '../runtime.ts';
import { requireScope } from './authorization.ts';
import { acceptJsonOnly } from './body.ts';
import type { RouteContext } from './context.ts';
import { deliveriesRoutes } from './deliveries-routes.ts';
import { docsPage } from './docs-page.ts';
import { eventsRoutes } from './events-routes.ts';
import { answerFailure } from './failures.ts';
import { collectOpenApi, sharedSchemas } from './openapi.ts';
import { pagesRoutes } from './pages-routes.ts';
import { answerOtherPaths } from './paths.ts';
import { plantsRoutes } from './plants-routes.ts';
import { requestGuard } from './request-guard.ts';
import { answerParserFailure, answerSocketFailures } from './socket-failures.ts';
import { closeStalledReaders } from './stalled-readers.ts';
import { gatherTurn } from './turn.ts';
import { createValidatorCompiler } from './validation.ts';
import { webhooksRoutes } from './webhooks-routes.ts';

export type ServerOptions = Pick<RouteContext, 'plants' | 'webhooks' | 'runtime' | 'cursorKey' | 'drain'> & {
  authenticate: Authenticate;
  /** Where the service is reached from outside; undefined when it is where it listens. */
  publicUrl: string | undefined;
  log: FastifyBaseLogger | undefined;
  checkStore(): void;
};

/** Builds the HTTP service: every route, and the Error object for everything that goes wrong. */
export async function buildServer(options: ServerOptions): Promise<FastifyInstance> {
  const app = createFastify(options);
  const basePath = options.publicUrl ? new URL(options.publicUrl).pathname.replace(/\/$/, '') : '';

  app.setValidatorCompiler(createValidatorCompiler(sharedSchemas));
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler(answerFailure);
  app.decorateRequest('principal');
  const turn = gatherTurn();
  app.addHook('onRequest', (_request, _reply, done) => turn(done));
  app.addHook('onRequest', requestGuard(options.drain));
  answerOtherPaths(app);
  acceptJsonOnly(app);
  answerSocketFailures(app.server);
  closeStalledReaders(app.server, options.runtime.clock);

  await collectOpenApi(app, options.publicUrl ?? '/');
  const context: RouteContext = {
    ...options,
    basePath,
    requires: (scope) => requireScope(options.authenticate, scope),
  };
  await app.register(async (api) => {
    plantsRoutes(api, context);
    webhooksRoutes(api, context);
    deliveriesRoutes(api, context);
    eventsRoutes(api, context);
    pagesRoutes(api, { ...options, basePath });
  });
  await docsPage(app, basePath);
  return app;
}

function createFastify({ log, runtime }: ServerOptions): FastifyInstance {
  const app = Fastify({
    ...(log ? { loggerInstance: log } : {}),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIds(runtime.clock),
    // One for each request costs a microsecond; what is logged of a request names its id itself.
    childLoggerFactory: (logger) => logger,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      maxHeaderSize: limits.headerBytes,
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: limits.urlBytes, querystringParser: (search) => search as never },
    rewriteUrl,
    frameworkErrors: answerFailure,
    clientErrorHandler: answerParserFailure,
  });
  app.server.maxConnections = limits.connections;
  // A client that has sent all that it will send still waits for its answer.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  // Fastify would read the body of a DELETE; the request guard deals with bodies that mean nothing.
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  return app;
}

/** Ids that are unique also across restarts, so that a log tells one request from every other. */
function requestIds(clock: Clock): () => string {
  const start = clock.now().toString(36);
  let count = 0;
  return () => `${start}-${++count}`;
}

/** A request target in absolute form (RFC 9112 §3.2.2) names the same path. */
function rewriteUrl(request: IncomingMessage): string {
  const url = request.url ?? '/';
  return url.startsWith('/') || url === '*' ? url : url.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
}
