import type { FastifyReply } from 'fastify';
import type { Principal } from '../../access/authentication.ts';
import { type AppError, retryLater } from '../../errors.ts';
import { access as limits } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import { countWindows } from './counted-windows.ts';

/** This many requests of one token in this many seconds. */
export type Rate = { requests: number; seconds: number };

/**
 * Returns a function that counts a request of the principal and reports the remaining requests in the response's
 * `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10). It returns the refusal, 42900, when none
 * remain. A token's window begins with its first request, so a client that waits until its end has the full quota again.
 */
export function limitRate({ requests, seconds }: Rate, clock: Clock) {
  const windows = countWindows({ lengthMs: seconds * 1000, most: limits.countedTokens, clock });
  const policy = `"default";q=${requests};w=${seconds}`;

  return ({ countedAs }: Principal, reply: FastifyReply): AppError | undefined => {
    const window = windows.count(countedAs);
    const wait = windows.secondsLeft(window);
    const left = Math.max(0, requests - window.count);
    reply.header('ratelimit-policy', policy).header('ratelimit', `"default";r=${left};t=${wait}`);
    if (window.count <= requests) return undefined;
    const message = `The token has used its ${requests} requests in ${seconds} s; try again in ${wait} s.`;
    return retryLater(42900, message, { seconds: wait });
  };
}
