import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { PagesContext } from './pages-routes.ts';
import { applyPageRules } from './sites.ts';

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

const WAY_BACK_CSS = `
.way-back { display: flex; gap: 20px; padding: 14px 20px; font: 15px system-ui, sans-serif; }
.way-back a { color: #2c6e49; }
`;

/** Adds the ways to the other pages: the page is made by its library, and has no place for them. */
function wayBack(basePath: string): string {
  const ways = { Documentation: `${basePath}/docs/`, Console: `${basePath}/console/` };
  return `
const nav = document.createElement('nav');
nav.className = 'way-back';
nav.ariaLabel = 'The service';
for (const [text, href] of Object.entries(${JSON.stringify(ways)})) {
  nav.append(Object.assign(document.createElement('a'), { textContent: text, href }));
}
document.body.prepend(nav);
`;
}

/** The interactive reference at `/docs/api`; works without any other host. */
export async function apiReference(
  app: FastifyInstance,
  { basePath, document }: PagesContext,
): Promise<void> {
  await app.register(async (scope) => {
    applyPageRules(scope, POLICY);
    scope.addHook('onRequest', (request, reply, done) => {
      if (isStockPage(request)) reply.callNotFound();
      else done();
    });
    // It has types for older versions of OpenAPI only; it passes on the document as it is.
    await scope.register(swagger, { mode: 'static', specification: { document: document as never } });
    await scope.register(swaggerUi, {
      routePrefix: '/docs/api',
      indexPrefix: basePath,
      theme: {
        title: 'Plant Store API',
        css: [{ filename: 'way-back.css', content: WAY_BACK_CSS }],
        js: [{ filename: 'way-back.js', content: wayBack(basePath) }],
      },
      uiConfig: {
        layout: 'BaseLayout',
        deepLinking: true,
        tryItOutEnabled: true,
        persistAuthorization: false,
      },
    });
  });
}

/** The library's own page among its files: it shows another service, and its name leads past the base path. */
function isStockPage({ routeOptions: { url }, params }: FastifyRequest): boolean {
  if (url === '/docs/api/static/index.html') return true;
  // The library's route for all of its files, whose one parameter is the rest of the path.
  return url === '/docs/api/static/*' && /^\/*(?:index\.html)?$/.test((params as { '*': string })['*']);
}
