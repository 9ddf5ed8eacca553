import type { IncomingMessage } from 'node:http';
import type { Authenticate, Principal } from '../../access/authentication.ts';
import { hashToken } from '../../access/tokens.ts';
import { AppError, retryLater } from '../../errors.ts';
import { access as limits } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import type { AllowedNetworks } from '../../webhooks/sending/addresses.ts';
import { clientNetwork } from './client-address.ts';
import { countWindows } from './counted-windows.ts';

type FailureOptions = {
  authenticate: Authenticate;
  /** Allowed failures of one client per minute; 0 for no limit. */
  limit: number;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  trustProxy: AllowedNetworks;
  /** A clock that never goes back. */
  clock: Clock;
};

/**
 * The user a request's token acts for. Known tokens are answered synchronously.
 * @throws AppError 40101, 40102, 42901
 */
export type Admit = (token: string, request: IncomingMessage) => Principal | Promise<Principal>;

/**
 * Refuses a client's tokens with 42901, without a lookup, once the client has failed too often. Tokens that are
 * known, or were valid at their last lookup, still pass, so that guessing tokens does not lock out others behind the
 * same address. Only failures count, so a valid token costs nothing. Lookups in progress do not count: all that
 * arrive in one turn of the event loop are made, even beyond the limit.
 */
export function limitFailures({ authenticate, limit, trustProxy, clock }: FailureOptions): Admit {
  if (limit === 0) return (token) => authenticate.known(token) ?? authenticate.lookUp(token);
  const failures = countWindows({ lengthMs: 60_000, most: limits.countedAddresses, clock });
  const proven = rememberProven(authenticate.claimant);

  function countFailure(error: unknown, token: string, client: string): void {
    if (!(error instanceof AppError && (error.code === 40101 || error.code === 40102))) return;
    failures.count(client);
    // Other JWTs of the same user may still be valid.
    if (authenticate.claimant(token) === hashToken(token)) proven.delete(token);
  }

  async function lookUp(token: string, client: string): Promise<Principal> {
    const failed = failures.find(client);
    if (failed && failed.count >= limit && !proven.has(token)) {
      const seconds = failures.secondsLeft(failed);
      const message = `Too many tokens from your address were refused in the last minute; try again in ${seconds} s.`;
      throw retryLater(42901, message, { seconds });
    }
    try {
      const principal = await authenticate.lookUp(token);
      proven.add(token);
      return principal;
    } catch (error) {
      countFailure(error, token, client);
      throw error;
    }
  }

  return (token, request) => {
    try {
      return authenticate.known(token) ?? lookUp(token, clientNetwork(request, trustProxy));
    } catch (error) {
      countFailure(error, token, clientNetwork(request, trustProxy));
      throw error;
    }
  };
}

/** Tokens that were valid. Kept separately, because the cache of known tokens is cleared whenever any token changes. */
function rememberProven(claimant: Authenticate['claimant']) {
  const claimants = new Set<string>();
  return {
    has: (token: string) => claimants.has(claimant(token)),
    delete: (token: string) => claimants.delete(claimant(token)),
    add(token: string): void {
      const one = claimant(token);
      // Moved to the end: the least recently looked up are forgotten first.
      claimants.delete(one);
      for (const oldest of claimants) {
        if (claimants.size < limits.provenTokens) break;
        claimants.delete(oldest);
      }
      claimants.add(one);
    },
  };
}
