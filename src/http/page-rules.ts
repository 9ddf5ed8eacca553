import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';

/** What holds for every page and file of this scope, beside the Content-Security-Policy of its pages. */
export function applyPageRules(scope: FastifyInstance, policy: readonly string[]): void {
  const joined = policy.join('; ');
  scope.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('content-security-policy', joined);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('referrer-policy', 'no-referrer');
    done(null, payload);
  });
  // Conditions and ranges have no place in the error catalogue; the files are small.
  scope.addHook('onRequest', (request, _reply, done) => {
    for (const name of ['if-match', 'if-unmodified-since', 'range']) delete request.headers[name];
    done();
  });
  const answerFailure = scope.errorHandler;
  scope.setErrorHandler((error, request, reply) => {
    const isMissing = error instanceof Error && 'statusCode' in error && error.statusCode !== 500;
    answerFailure(isMissing ? new AppError(40400) : error, request, reply);
  });
}
