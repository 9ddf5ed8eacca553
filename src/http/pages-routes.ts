import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { http as limits } from '../limits.ts';
import { answerJson } from './answer.ts';

export type HealthContext = {
  /** Throws when the store cannot answer. */
  checkStore(): void;
};

/** Whether the process lives, and whether it can serve. */
export function healthRoutes(app: FastifyInstance, { checkStore }: HealthContext): void {
  app.get('/healthz', { schema: { hide: true } }, (_request, reply) =>
    answerJson(reply).send('{"status":"alive"}'),
  );
  app.get('/readyz', { schema: { hide: true } }, (_request, reply) => {
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

/** What else needs no token: the way to the console, and the OpenAPI document. */
export function pagesRoutes(app: FastifyInstance, { basePath }: { basePath: string }): void {
  app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect(`${basePath}/console`));
  // It does not change while the service runs, and anybody may ask for it.
  let document: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(app.swagger());
    return answerJson(reply).send(document);
  });
}
