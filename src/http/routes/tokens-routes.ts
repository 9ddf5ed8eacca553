import type { FastifyInstance } from 'fastify';
import {
  TokenCreated,
  TokenInput,
  TokenRotated,
  TokenRotationInput,
  TokenView,
  timeText,
  tokenView,
} from '../../access/own-token.ts';
import {
  createOwnToken,
  ownTokens,
  type RotatedOwnToken,
  revokeOwnToken,
  rotateOwnToken,
} from '../../access/own-tokens.ts';
import { callerOf, sendAnswer } from '../request/idempotency.ts';
import { type Operations, pathText } from './operation.ts';
import { answerJson, type RouteContext } from './route.ts';

type Params = { id: string };
const PATH = { id: pathText('the id of the token') };

export const tokensOperations = {
  listTokens: {
    method: 'GET',
    url: '/tokens',
    scope: 'tokens:read',
    summary: 'List tokens',
    description: 'Returns your live tokens, oldest first, without the tokens themselves.',
    tag: 'Tokens',
    success: { status: 200, description: 'The tokens.', schema: { type: 'array', items: TokenView } },
  },
  createToken: {
    method: 'POST',
    url: '/tokens',
    scope: 'tokens:write',
    summary: 'Create a token',
    description:
      'Creates a token that acts for you. It is shown only once, and can do no more and lasts no longer than the token ' +
      'that you send.',
    tag: 'Tokens',
    body: TokenInput,
    success: { status: 201, description: 'The token was created.', schema: TokenCreated },
    failures: [40902],
  },
  rotateToken: {
    method: 'POST',
    url: '/tokens/:id/rotate',
    scope: 'tokens:write',
    summary: 'Rotate a token',
    description:
      'Replaces a token with a new one, which is shown only once and has the same label and scopes. Both work during the ' +
      'overlap. The new one lasts as long as the old one was to last, but no longer than the token that you send, which ' +
      'must have all scopes of the old one and must not expire before it.',
    tag: 'Tokens',
    path: PATH,
    body: TokenRotationInput,
    success: { status: 200, description: 'The new token.', schema: TokenRotated },
    failures: [40404, 40902],
  },
  revokeToken: {
    method: 'DELETE',
    url: '/tokens/:id',
    scope: 'tokens:write',
    summary: 'Revoke a token',
    description:
      'The token is refused from the next request on, with several replicas by all of them within 5 seconds. You may ' +
      'revoke the token that you send.',
    tag: 'Tokens',
    path: PATH,
    success: { status: 204, description: 'The token was revoked.' },
    failures: [40404],
  },
} satisfies Operations;

/** The caller's own tokens. */
export function tokensRoutes(app: FastifyInstance, { access, routeOf }: RouteContext): void {
  app.route({
    ...routeOf(tokensOperations.listTokens),
    async handler({ principal }, reply) {
      const tokens = await ownTokens(access, principal.user.id);
      answerJson(reply);
      return JSON.stringify(tokens.map(tokenView));
    },
  });
  app.route<{ Body: TokenInput }>({
    ...routeOf(tokensOperations.createToken),
    async handler(request, reply) {
      const { principal, body } = request;
      const created = await createOwnToken(access, principal, body, (result) =>
        callerOf(request, () => answerOf(201, tokenView(result))),
      );
      reply.header('cache-control', 'no-store');
      return sendAnswer(reply, answerOf(201, { ...tokenView(created), token: created.token }));
    },
  });
  app.route<{ Params: Params; Body: TokenRotationInput }>({
    ...routeOf(tokensOperations.rotateToken),
    async handler(request, reply) {
      const { principal, params, body } = request;
      const rotated = await rotateOwnToken(access, principal, params.id, body, (result) =>
        callerOf(request, () => answerOf(200, rotationView(result))),
      );
      reply.header('cache-control', 'no-store');
      return sendAnswer(reply, answerOf(200, { ...rotationView(rotated), token: rotated.token }));
    },
  });
  app.route<{ Params: Params }>({
    ...routeOf(tokensOperations.revokeToken),
    async handler(request, reply) {
      await revokeOwnToken(access, request.principal, request.params.id, callerOf(request));
      return reply.code(204).send();
    },
  });
}

function rotationView(rotated: RotatedOwnToken) {
  return { ...tokenView(rotated), overlapUntil: timeText(rotated.overlapUntil) };
}

/** The one that is kept for a replay lacks the token. */
function answerOf(status: number, body: object) {
  return { status, location: undefined, body: JSON.stringify(body) };
}
