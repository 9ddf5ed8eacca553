import {
  TokenCreated,
  TokenInput,
  TokenRotated,
  TokenRotationInput,
  TokenView,
  tokenView,
} from '../../access/own-token.ts';
import {
  type CreatedToken,
  createOwnToken,
  ownTokens,
  type RotatedOwnToken,
  revokeOwnToken,
  rotateOwnToken,
} from '../../access/own-tokens.ts';
import { scopes } from '../../access/scopes.ts';
import { timeText } from '../../runtime.ts';
import { callerOf } from '../request/idempotency.ts';
import { type Operations, pathText } from './operation.ts';
import type { RouteContext } from './route.ts';

const PATH = { id: pathText('the id of the token') };

const Me = {
  $id: 'Me',
  type: 'object',
  required: ['user', 'scopes'],
  properties: {
    user: { type: 'string', description: 'the name of the user', examples: ['admin'] },
    scopes: TokenView.properties.scopes,
    expiresAt: TokenView.properties.expiresAt,
  },
  description: 'Who the token acts for, and what it may do.',
} as const;

export const tokensOperations = {
  getMe: {
    method: 'GET',
    url: '/me',
    scope: undefined,
    summary: 'Show the user of the token',
    description: 'Returns the user and the scopes of the token. It requires a token, but no scope.',
    success: { status: 200, description: 'The user and the scopes.', schema: Me },
  },
  listTokens: {
    method: 'GET',
    url: '/tokens',
    scope: 'tokens:read',
    summary: 'List tokens',
    description: 'Returns your live tokens, oldest first, without the tokens themselves.',
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
      'The token is refused from the next request on; on PostgreSQL, by every replica within 5 seconds. You may revoke ' +
      'the token that you send.',
    path: PATH,
    success: { status: 204, description: 'The token was revoked.' },
    failures: [40404],
  },
} satisfies Operations;

/** Who the caller's token acts for and what it may do, and the caller's own tokens. */
export function tokensRoutes({ access, route, post }: RouteContext): void {
  route(tokensOperations.getMe, async ({ principal: { user, scopes: granted, expiresAt } }) =>
    JSON.stringify({
      user: user.name,
      scopes: scopes.filter((scope) => granted.has(scope)),
      expiresAt: expiresAt === undefined ? undefined : timeText(expiresAt),
    }),
  );
  route(tokensOperations.listTokens, async ({ principal }) => {
    const tokens = await ownTokens(access, principal.user.id);
    return JSON.stringify(tokens.map(tokenView));
  });
  post(tokensOperations.createToken, {
    json: ({ token, ...created }: CreatedToken, isKept) =>
      JSON.stringify({ ...tokenView(created), token: isKept ? undefined : token }),
    isSecret: true,
    write: ({ body, principal }, callerFor) => createOwnToken(access, principal, body, callerFor),
  });
  post(tokensOperations.rotateToken, {
    json: ({ token, overlapUntil, ...rotated }: RotatedOwnToken, isKept) =>
      JSON.stringify({
        ...tokenView(rotated),
        overlapUntil: timeText(overlapUntil),
        token: isKept ? undefined : token,
      }),
    isSecret: true,
    write: ({ params, body, principal }, callerFor) =>
      rotateOwnToken(access, principal, params.id, body, callerFor),
  });
  route(tokensOperations.revokeToken, (request) =>
    revokeOwnToken(access, request.principal, request.params.id, callerOf(request)),
  );
}
