import { AppError, expiredToken, insufficientScope } from '../errors.ts';
import type { Caller, CallerFor } from '../idempotency/port.ts';
import { access as limits } from '../limits.ts';
import { timeText } from '../runtime.ts';
import { type Principal, unknownToken } from './authentication.ts';
import type { OwnToken, TokenInput, TokenRotationInput } from './own-token.ts';
import type { AccessContext, StoredToken, TokenCreationOutcome, TokenRotationOutcome } from './port.ts';
import { type Scope, scopes } from './scopes.ts';
import { endOf, lifetimeOf, newToken, tokenStatus } from './tokens.ts';
import { disabledUser } from './users.ts';

/** What a user does with their own tokens. A token gives others no more than it has, neither scopes nor time. */

/** A token that was just created; `token` is in no other answer. */
export type CreatedToken = OwnToken & { token: string };
/** `overlapUntil`: until when the old token works, in milliseconds since the Unix epoch. */
export type RotatedOwnToken = CreatedToken & { overlapUntil: number };

/** The live tokens of a user, oldest first. */
export async function ownTokens({ store, runtime }: AccessContext, user: number): Promise<StoredToken[]> {
  const tokens = await store.tokens(user);
  const now = runtime.clock.now();
  return tokens.filter((token) => tokenStatus(token, now) === 'live');
}

/**
 * Creates a token for the caller: by default with the scopes and the expiry of the token that asks.
 * @throws AppError 40102 when that token has expired, 40300 for more than it has, 40101 when it has just ended, 40902 at
 * the limit.
 */
export async function createOwnToken(
  { store, runtime }: AccessContext,
  principal: Principal,
  { label = '', scopes: asked, expiresIn }: TokenInput,
  callerFor: CallerFor<CreatedToken>,
): Promise<CreatedToken> {
  const { token, kept } = newToken(runtime);
  const granted = scopes.filter((scope) => asked?.includes(scope) ?? principal.scopes.has(scope));
  const expiresAt = expiresIn === undefined ? principal.expiresAt : kept.createdAt + expiresIn * 1000;
  refuseMore(principal, { scopes: granted, expiresAt }, kept.createdAt);
  const created = { ...kept, label, scopes: granted, expiresAt };
  const result = { ...created, lastUsedOn: undefined, token };
  const stored = { ...created, user: principal.user.name };
  const outcome = await store.createToken(stored, asking(principal), callerFor(result));
  if (outcome !== 'created') throw refused(outcome);
  return result;
}

/**
 * Replaces a live token of the caller. The new one lasts as long as the old one was to last, but no longer than the token
 * that asks.
 * @throws AppError 40404, 40102 when the token that asks has expired, 40300 for a token that has more than it, 40101 when
 * it has just ended, and 40902 at the limit, for a token that was replaced before, and for the bootstrap token.
 */
export async function rotateOwnToken(
  { store, runtime }: AccessContext,
  principal: Principal,
  id: string,
  { overlap = limits.tokenOverlapMs.default / 1000 }: TokenRotationInput,
  callerFor: CallerFor<RotatedOwnToken>,
): Promise<RotatedOwnToken> {
  const old = (await ownTokens({ store, runtime }, principal.user.id)).find((token) => token.id === id);
  if (!old) throw noToken();
  const { token, kept } = newToken(runtime);
  refuseMore(principal, old, kept.createdAt);
  const end = Math.min(endOf(kept.createdAt, lifetimeOf(old)) ?? Infinity, principal.expiresAt ?? Infinity);
  const replacement = { ...kept, expiresAt: Number.isFinite(end) ? end : undefined };
  const overlapUntil = Math.min(kept.createdAt + overlap * 1000, old.expiresAt ?? Infinity);
  const result = { ...old, ...replacement, lastUsedOn: undefined, token, overlapUntil };
  const rotation = { id, replacement, overlapUntil };
  const outcome = await store.rotateToken(rotation, asking(principal), callerFor(result));
  if (outcome !== 'rotated') throw refused(outcome);
  return result;
}

/**
 * Revokes a live token of the caller, be it the one that asks.
 * @throws AppError 40404
 */
export async function revokeOwnToken(
  { store, runtime }: AccessContext,
  { user }: Principal,
  id: string,
  caller: Caller,
): Promise<void> {
  if (!(await store.revokeToken(id, runtime.clock.now(), user.id, caller))) throw noToken();
}

const asking = ({ user, token }: Principal) => ({ user: user.id, token, most: limits.tokensPerUser });

/** By this nobody outlives what an identity provider said of them. */
function refuseMore(
  principal: Principal,
  { scopes, expiresAt }: { scopes: readonly Scope[]; expiresAt: number | undefined },
  now: number,
): void {
  const missing = scopes.filter((scope) => !principal.scopes.has(scope));
  if (missing.length > 0) {
    const message = `The token lacks the scope ${missing.join(', ')}, so it cannot pass it on.`;
    throw insufficientScope(missing.join(' '), message);
  }
  const end = principal.expiresAt;
  // A JWT is accepted for a while after its end, by the clock skew; a token with that end would be of no use.
  if (end !== undefined && end <= now) throw expiredToken();
  if (end !== undefined && (expiresAt === undefined || expiresAt > end)) {
    throw new AppError(
      40300,
      `The token expires at ${timeText(end)}, so a token that it creates or rotates must expire by then.`,
    );
  }
}

function refused(
  outcome: Exclude<TokenCreationOutcome | TokenRotationOutcome, 'created' | 'rotated'>,
): AppError {
  if (typeof outcome !== 'string') {
    return new AppError(
      40902,
      `The token was replaced by ${outcome.replacedBy}: rotate that one, or create another.`,
    );
  }
  switch (outcome) {
    case 'full':
      return new AppError(
        40902,
        `You have ${limits.tokensPerUser} tokens, which is the limit; revoke one first, or rotate one with an overlap of 0.`,
      );
    case 'bootstrap':
      return new AppError(
        40902,
        'You cannot rotate the bootstrap token: the operator replaces it with another BOOTSTRAP_TOKEN.',
      );
    case 'caller ended':
      return unknownToken();
    case 'no user':
      return disabledUser();
    case 'no token':
    case 'not live':
      return noToken();
  }
}

function noToken(): AppError {
  return new AppError(40404, 'You have no live token with this id.');
}
