import { AppError } from '../errors.ts';
import { access as limits } from '../limits.ts';
import type { Runtime } from '../runtime.ts';
import type { AccessStore, StoredToken } from './port.ts';
import type { Scope } from './scopes.ts';
import { hashToken, isMistyped } from './tokens.ts';

/** Whoever a token acts for, and what it may do. */
export type Principal = {
  user: { id: number; name: string };
  scopes: ReadonlySet<Scope>;
  /** Milliseconds since the Unix epoch; Infinity for a token that does not expire. */
  expiresAt: number;
};

/**
 * Finds out who a bearer token acts for. Answers at once, without a promise, for a token that was seen
 * before and whose record has not changed since.
 *
 * @throws AppError 40101 for an unknown or revoked token, 40102 for an expired one.
 */
export type Authenticate = (token: string) => Principal | Promise<Principal>;

export type AuthenticationOptions = {
  store: AccessStore;
  runtime: Runtime;
  /** The operator's own token: accepted also when it looks like a mistyped one of ours. */
  bootstrapToken: string | undefined;
};

export function createAuthenticate({ store, runtime, bootstrapToken }: AuthenticationOptions): Authenticate {
  const known = new Map<string, Principal>();
  let epoch = store.accessEpoch();

  return (token) => {
    const current = store.accessEpoch();
    if (current !== epoch) {
      known.clear();
      epoch = current;
    }
    const principal = known.get(token);
    return principal ? refuseExpired(principal, runtime.clock.now()) : lookUp(token);
  };

  async function lookUp(token: string): Promise<Principal> {
    if (isMistyped(token) && token !== bootstrapToken) throw unknownToken();
    const asked = epoch;
    const found = await store.findToken(hashToken(token));
    if (!found || found.revokedAt !== undefined) throw unknownToken();
    const principal = toPrincipal(found);
    if (asked === epoch) remember(token, principal);
    return refuseExpired(principal, runtime.clock.now());
  }

  function remember(token: string, principal: Principal): void {
    if (known.size >= limits.cachedTokens) known.clear();
    known.set(token, principal);
  }
}

function toPrincipal(token: StoredToken): Principal {
  return { user: token.user, scopes: new Set(token.scopes), expiresAt: token.expiresAt ?? Infinity };
}

function refuseExpired(principal: Principal, now: number): Principal {
  if (now >= principal.expiresAt) throw new AppError(40102, 'The token has expired; use a new one.');
  return principal;
}

function unknownToken(): AppError {
  return new AppError(
    40101,
    'The token is unknown or was revoked; check it for typing errors or use another.',
  );
}
