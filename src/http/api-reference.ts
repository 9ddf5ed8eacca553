import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { applyPageRules } from './page-rules.ts';

/** Style attributes are what the page's own library sets. */
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
];

/** The interactive reference at `/docs/api`; works without any other host. */
export async function apiReference(app: FastifyInstance, basePath: string): Promise<void> {
  await app.register(async (scope) => {
    applyPageRules(scope, POLICY);
    await scope.register(swaggerUi, {
      routePrefix: '/docs/api',
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
