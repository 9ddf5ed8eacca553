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
  // It does not change while the service runs, and anybody may ask for it.
  let document: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(app.swagger());
    return answerJson(reply).send(document);
  });
}
