import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

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
export async function docsPage(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onSend', (_request, reply, payload, done) => {
      reply.header('content-security-policy', POLICY);
      reply.header('x-content-type-options', 'nosniff');
      reply.header('referrer-policy', 'no-referrer');
      done(null, payload);
    });
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      theme: { title: 'Plant Store API' },
      uiConfig: { deepLinking: true, tryItOutEnabled: true, persistAuthorization: false },
    });
  });
}
