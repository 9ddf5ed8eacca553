import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import type { Authenticate, Principal } from '../../access/authentication.ts';
import type { Scope } from '../../access/scopes.ts';
import { AppError, CHALLENGE, insufficientScope } from '../../errors.ts';
import { http as limits } from '../../limits.ts';
import type { Admit } from '../admission/auth-failures.ts';
import type { limitRate } from '../admission/rate-limit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authorization hook, on every route that requires a token. */
    principal: Principal;
  }
}

/** Finds the user of a token and counts their requests. */
export type Admission = {
  admit: Admit;
  /** Absent when requests are not counted. */
  countRequest: ReturnType<typeof limitRate> | undefined;
};

/** A hook that admits requests whose bearer token is valid and has the scope, if any (RFC 6750). */
export function requireScope({ admit, countRequest }: Admission, scope: Scope | undefined) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const goOn = (principal: Principal) => {
      request.principal = principal;
      const refusal = countRequest?.(principal, reply);
      const isMissing = scope !== undefined && !principal.scopes.has(scope);
      done(
        refusal ?? (isMissing ? insufficientScope(scope, `The token lacks the scope ${scope}.`) : undefined),
      );
    };
    try {
      const found = admit(bearerToken(request.headers.authorization), request.raw);
      if (found instanceof Promise) found.then(goOn, done);
      else goOn(found);
    } catch (error) {
      // Nothing but errors is thrown.
      done(error as Error);
    }
  };
}

/**
 * Whether the token of a long-running request is still valid for the same user. This is not a request: it counts none
 * and creates no user.
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

/** Visible ASCII without the comma, which joins the values of a repeated header. */
const TOKEN = /^[\x21-\x2b\x2d-\x7e]+$/;

/**
 * The token in an Authorization header. A repeated header was refused before.
 * @throws AppError 40100 without a bearer token, 40005 for a header that cannot be read.
 */
function bearerToken(header: string | undefined): string {
  if (header === undefined) throw noToken();
  // The form of nearly every request.
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
    throw malformed('the token must be visible ASCII without commas');
  }
  return token;
}

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

/** Adds the challenge (RFC 6750 §3.1) to a failure that needs it and has none, wherever it comes from. */
export function withChallenge(error: AppError): AppError {
  if (![40101, 40102, 40300].includes(error.code) || 'www-authenticate' in error.headers) return error;
  const challenge = error.code === 40300 ? 'insufficient_scope' : 'invalid_token';
  const headers = { 'www-authenticate': `${CHALLENGE}, error="${challenge}"` };
  return new AppError(error.code, error.message, { headers, cause: error.cause });
}
