import type { IncomingMessage } from 'node:http';
import type { Authenticate, Principal } from '../../access/authentication.ts';
import { hashToken } from '../../access/tokens.ts';
import { AppError, retryLater } from '../../errors.ts';
import { access as limits } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import { type CountedWindow, countWindows, secondsLeft } from './counted-windows.ts';

export type FailureOptions = {
  authenticate: Authenticate;
  /** Failures of one client in a minute; 0 for any number. */
  limit: number;
  /** Who a request comes from. Asked only when its token is not known. */
  clientOf(request: IncomingMessage): string;
  /** One that never goes back. */
  clock: Clock;
};

/**
 * Who the token of a request acts for: at once, without a promise, when it is known.
 *
 * @throws AppError 40101, 40102, 42901
 */
export type Admit = (token: string, request: IncomingMessage) => Principal | Promise<Principal>;

/**
 * Refuses tokens without looking them up, 42901, once their client has failed too often. Those that are known, or were
 * good when they were looked up last, go on: whoever guesses tokens locks out nobody behind the same address.
 *
 * Only failures are counted, so whoever has a good token pays nothing. Look-ups that are under way are not: what one
 * turn of the event loop brings is looked up, though it be more than the limit.
 */
export function limitFailures({ authenticate, limit, clientOf, clock }: FailureOptions): Admit {
  if (limit === 0) return (token) => authenticate.known(token) ?? authenticate.lookUp(token);
  const failures = countWindows({ lengthMs: 60_000, most: limits.countedAddresses, clock });
  const proven = rememberProven(authenticate.claimant);

  function countFailure(error: unknown, token: string, client: string): void {
    if (!(error instanceof AppError && (error.code === 40101 || error.code === 40102))) return;
    failures.count(client);
    // Of a JWT others of the same user may be good still.
    if (authenticate.claimant(token) === hashToken(token)) proven.delete(token);
  }

  async function lookUp(token: string, client: string): Promise<Principal> {
    const failed = failures.find(client);
    if (failed && failed.count >= limit && !proven.has(token)) throw tooManyFailures(failed, clock);
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
      return authenticate.known(token) ?? lookUp(token, clientOf(request));
    } catch (error) {
      countFailure(error, token, clientOf(request));
      throw error;
    }
  };
}

/** Tokens that were good: the memory of those that are known is emptied whenever any token is changed. */
function rememberProven(claimant: Authenticate['claimant']) {
  const claimants = new Set<string>();
  return {
    has: (token: string) => claimants.has(claimant(token)),
    delete: (token: string) => claimants.delete(claimant(token)),
    add(token: string): void {
      const one = claimant(token);
      // To the end: those that were not looked up for longest are forgotten first.
      claimants.delete(one);
      for (const oldest of claimants) {
        if (claimants.size < limits.provenTokens) break;
        claimants.delete(oldest);
      }
      claimants.add(one);
    },
  };
}

function tooManyFailures(window: CountedWindow, clock: Clock): AppError {
  const wait = secondsLeft(window, clock);
  return retryLater(
    42901,
    `Too many tokens of your address were refused in the last minute; try again in ${wait} s.`,
    { seconds: wait },
  );
}
