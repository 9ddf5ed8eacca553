import type { FastifyInstance } from 'fastify';
import { retryLater } from '../../errors.ts';
import { answerJson } from '../request/body.ts';
import { openapiDocument } from '../routes/openapi.ts';

/** The body of a health check that finds a live process. */
export const ALIVE = '{"status":"alive"}';

/**
 * Liveness and readiness.
 * @param checkStore throws when the store cannot answer
 */
export function healthRoutes(app: FastifyInstance, checkStore: () => void): void {
  app.get('/healthz', (_request, reply) => answerJson(reply).send(ALIVE));
  app.get('/readyz', (_request, reply) => {
    try {
      checkStore();
    } catch (cause) {
      throw retryLater(50302, 'The store is unavailable.', { cause });
    }
    return answerJson(reply).send('{"status":"ready"}');
  });
}

/** The other paths that need no token: the redirect to the console, and the OpenAPI document. */
export function pagesRoutes(app: FastifyInstance, basePath: string, publicUrl: string | undefined): void {
  app.get('/', (_request, reply) => reply.redirect(`${basePath}/console`));
  let document: string | undefined;
  app.get('/openapi.json', (_request, reply) => {
    // Not at every start, which would take longer and 1 MiB more.
    document ??= JSON.stringify(openapiDocument(publicUrl));
    return answerJson(reply).send(document);
  });
}
