import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { answerFailure } from './failures.ts';

/** Nothing but what this service itself serves; style attributes are what the page's own library sets. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The interactive reference at `/docs`; works without any other host. */
export async function docsPage(app: FastifyInstance, basePath: string): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onSend', (_request, reply, payload, done) => {
      reply.header('content-security-policy', POLICY);
      reply.header('x-content-type-options', 'nosniff');
      reply.header('referrer-policy', 'no-referrer');
      done(null, payload);
    });
    // Conditions and ranges have no place in the error catalogue; the files are small.
    scope.addHook('onRequest', (request, _reply, done) => {
      for (const name of ['if-match', 'if-unmodified-since', 'range']) delete request.headers[name];
      done();
    });
    scope.setErrorHandler((error, request, reply) => {
      const isMissing = error instanceof Error && 'statusCode' in error && error.statusCode !== 500;
      answerFailure(isMissing ? new AppError(40400) : error, request, reply);
    });
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      indexPrefix: basePath,
      theme: { title: 'Plant Store API' },
      uiConfig: {
        layout: 'BaseLayout',
        deepLinking: true,
        tryItOutEnabled: true,
        persistAuthorization: false,
      },
    });
  });
}
