import type { FastifyInstance } from 'fastify';
import { ScopeName, scopes } from '../../access/scopes.ts';
import type { Operations } from './operation.ts';
import { answerJson, type RouteContext } from './route.ts';

const Me = {
  $id: 'Me',
  type: 'object',
  required: ['user', 'scopes'],
  properties: {
    user: { type: 'string', description: 'the name of the user', examples: ['admin'] },
    scopes: { type: 'array', items: ScopeName, description: 'what the token may do' },
    expiresAt: {
      type: 'string',
      format: 'date-time',
      description: 'when the token expires; absent if it never does',
    },
  },
  description: 'Who the token acts for, and what it may do.',
} as const;

export const meOperations = {
  getMe: {
    method: 'GET',
    url: '/me',
    scope: undefined,
    summary: 'Show the user of the token',
    description: 'Returns the user and the scopes of the token. It requires a token, but no scope.',
    tag: 'Tokens',
    success: { status: 200, description: 'The user and the scopes.', schema: Me },
  },
} satisfies Operations;

/** Tells a program which user it acts for and which operations its token allows. */
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
