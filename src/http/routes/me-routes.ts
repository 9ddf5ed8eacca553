import type { FastifyInstance } from 'fastify';
import { scopes } from '../../access/scopes.ts';
import type { Operations } from './operation.ts';
import { answerJson, type RouteContext } from './route.ts';

const Me = {
  type: 'object',
  required: ['user', 'scopes'],
  properties: {
    user: { type: 'string', description: 'the name of the user', examples: ['admin'] },
    scopes: { type: 'array', items: { enum: scopes }, description: 'what the token may do' },
    expiresAt: {
      type: 'string',
      format: 'date-time',
      description: 'when the token ends; absent when it does not',
    },
  },
} as const;

export const meOperations = {
  getMe: {
    method: 'GET',
    url: '/me',
    scope: undefined,
    summary: 'Show whom the token acts for',
    description: 'Returns the user and the scopes of the token. It takes a token, and no scope.',
    tag: 'Tokens',
    success: { status: 200, description: 'The user and the scopes.', schema: Me },
  },
} satisfies Operations;

/** Tells a program whose token it was given: by whom it is signed in, and what it need not offer. */
export function meRoutes(app: FastifyInstance, { routeOf }: RouteContext): void {
  app.route({
    ...routeOf(meOperations.getMe),
    handler({ principal }, reply) {
      const { user, expiresAt } = principal;
      answerJson(reply);
      return JSON.stringify({
        user: user.name,
        scopes: scopes.filter((scope) => principal.scopes.has(scope)),
        ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      });
    },
  });
}
