import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { Authenticate, Principal } from '../../access/authentication.ts';
import type { Scope } from '../../access/scopes.ts';
import { AppError } from '../../errors.ts';
import { http as limits } from '../../limits.ts';
import type { Admit } from '../admission/auth-failures.ts';
import type { CountRequest } from '../admission/rate-limit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authorization hook, on every route that asks for a token. */
    principal: Principal;
  }
}

/** Who a token acts for, and whether they may ask once more. */
export type Admission = {
  admit: Admit;
  /** Absent when requests are not counted. */
  countRequest: CountRequest | undefined;
};

/** A hook that lets a request through whose bearer token acts for a user and has the scope, if any (RFC 6750). */
export function requireScope({ admit, countRequest }: Admission, scope: Scope | undefined) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const goOn = (principal: Principal) => {
      request.principal = principal;
      const refusal = countRequest?.(principal, reply);
      const isMissing = scope !== undefined && !principal.scopes.has(scope);
      done(refusal ?? (isMissing ? insufficientScope(scope) : undefined));
    };
    try {
      const found = admit(bearerToken(request.headers.authorization), request.raw);
      if (found instanceof Promise) found.then(goOn, done);
      else goOn(found);
    } catch (error) {
      done(asError(error));
    }
  };
}

/** Nothing but errors is thrown; only the types do not know. */
function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('authentication failed', { cause: error });
}

/**
 * Whether the token of a request that goes on for long still counts, for the same user. That is no request, so it is
 * not counted as one, and makes no user.
 */
export async function isStillAdmitted(
  authenticate: Authenticate,
  scope: Scope,
  { headers, principal }: FastifyRequest,
): Promise<boolean> {
  try {
    const token = bearerToken(headers.authorization);
    const now = authenticate.known(token) ?? (await authenticate.lookUp(token, { makesUser: false }));
    return now.user.id === principal.user.id && now.scopes.has(scope);
  } catch (error) {
    if (error instanceof AppError && error.status === 401) return false;
    throw error;
  }
}

/** Visible ASCII. A comma joins the values of a header that was given more than once. */
const TOKEN = /^[\x21-\x2b\x2d-\x7e]+$/;

/**
 * The token of an Authorization header. That the header is not given twice was looked at before.
 *
 * @throws AppError 40100 without a bearer token, 40005 for a header that cannot be read.
 */
function bearerToken(header: string | undefined): string {
  if (header === undefined) throw noToken();
  // The form that nearly every request has.
  if (header.startsWith('Bearer ') && header.length <= limits.tokenBytes && TOKEN.test(header.slice(7))) {
    return header.slice(7);
  }
  const [scheme = ''] = /^[\w!#$%&'*+.^`|~-]*/.exec(header) ?? [];
  if (scheme === '') throw malformed('it must read: Bearer <ACCESS_TOKEN>');
  if (scheme.toLowerCase() !== 'bearer') throw noToken();
  const rest = header.slice(scheme.length);
  const token = rest.replace(/^ +/, '');
  if (token === '') throw malformed('the token is empty');
  if (token.length > limits.tokenBytes)
    throw malformed(`the token is longer than ${limits.tokenBytes} bytes`);
  if (token === rest || !TOKEN.test(token)) {
    throw malformed('the token has characters other than visible ASCII without the comma');
  }
  return token;
}

const CHALLENGE = 'Bearer realm="plant-store"';

function noToken(): AppError {
  return new AppError(40100, 'Send the header Authorization: Bearer <ACCESS_TOKEN>.', {
    headers: { 'www-authenticate': CHALLENGE },
  });
}

/** RFC 6750 §3.1, `invalid_request`. */
export function malformed(what: string): AppError {
  return new AppError(40005, `The Authorization header cannot be read: ${what}.`, {
    headers: { 'www-authenticate': `${CHALLENGE}, error="invalid_request"` },
  });
}

function insufficientScope(scope: Scope): AppError {
  return new AppError(40300, `The token lacks the scope ${scope}.`, {
    headers: { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}

/** RFC 6750 §3.1, `invalid_token`: the challenge of a failure that is one, wherever it comes from. */
export function withChallenge(error: AppError): AppError {
  if (error.code !== 40101 && error.code !== 40102) return error;
  const headers = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` };
  return new AppError(error.code, error.message, { headers, cause: error.cause });
}
