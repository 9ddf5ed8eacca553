import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { http as limits } from '../limits.ts';
import { answerJson } from './answer.ts';

export type PagesContext = {
  basePath: string;
  /** Throws when the store cannot answer. */
  checkStore(): void;
};

/** What needs no token: health, the way to the documentation, and the OpenAPI document. */
export function pagesRoutes(app: FastifyInstance, { basePath, checkStore }: PagesContext): void {
  app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect(`${basePath}/docs`));
  app.get('/healthz', { schema: { hide: true } }, (_request, reply) =>
    answerJson(reply).send('{"status":"alive"}'),
  );
  app.get('/readyz', { schema: { hide: true } }, (_request, reply) => {
    try {
      checkStore();
    } catch (cause) {
      throw new AppError(50302, 'The store cannot be read.', {
        headers: { 'retry-after': String(limits.retryAfterSeconds) },
        cause,
      });
    }
    return answerJson(reply).send('{"status":"ready"}');
  });
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) =>
    answerJson(reply).send(JSON.stringify(app.swagger())),
  );
}
