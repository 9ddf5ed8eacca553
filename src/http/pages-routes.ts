import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { http as limits } from '../limits.ts';
import { answerJson } from './route.ts';

export type HealthContext = {
  /** Throws when the store cannot answer. */
  checkStore(): void;
};

/** Whether the process lives, and whether it can serve. */
export function healthRoutes(app: FastifyInstance, { checkStore }: HealthContext): void {
  app.get('/healthz', (_request, reply) => answerJson(reply).send('{"status":"alive"}'));
  app.get('/readyz', (_request, reply) => {
    try {
      checkStore();
    } catch (cause) {
      throw new AppError(50302, 'The store cannot be used now.', {
        headers: { 'retry-after': String(limits.retryAfterSeconds) },
        cause,
      });
    }
    return answerJson(reply).send('{"status":"ready"}');
  });
}

export type PagesContext = { basePath: string; document: object };

/** What else needs no token: the way to the console, and the OpenAPI document. */
export function pagesRoutes(app: FastifyInstance, { basePath, document }: PagesContext): void {
  app.get('/', (_request, reply) => reply.redirect(`${basePath}/console`));
  const text = JSON.stringify(document);
  app.get('/openapi.json', (_request, reply) => answerJson(reply).send(text));
}
