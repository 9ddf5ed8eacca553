import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { AppError, expiredToken } from '../errors.ts';
import { identityProvider as limits } from '../limits.ts';
import { LAST_TIME, type Runtime, steadyClock } from '../runtime.ts';
import { createKeySource, type IdentityProviderLocation } from './jwt-documents.ts';
import { createKeySet } from './jwt-keys.ts';
import { isScope, type Scope } from './scopes.ts';
import { isUserName, userNameRule } from './users.ts';

/** The content of a JWT with a valid signature and valid claims. */
type Claims = {
  /** Satisfies `isUserName`. */
  user: string;
  scopes: ReadonlySet<Scope>;
  /** Its claim `exp`, in whole milliseconds since the Unix epoch; at most `LAST_TIME`. */
  expiresAt: number;
  /** The same with the clock skew: when it is refused. */
  refusedFrom: number;
};

export type IdentityProvider = IdentityProviderLocation & {
  /** The value of the claim `aud`, or one of its values. */
  audience: string;
  /** The claim that names the user. */
  userClaim: string;
  /** The claim that lists the scopes: a text, separated by spaces (RFC 8693 §4.2), or an array of texts. */
  scopeClaim: string;
};

/** Fixed, whatever the header or the key says. Shared secrets (HMAC) and `none` are not accepted. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];

export type VerifyJwt = ReturnType<typeof createVerifyJwt>;

/**
 * Verifies the JWTs of one identity provider. Starts to fetch the provider's keys, and gives up when `stopped` is
 * aborted.
 */
export function createVerifyJwt(
  provider: IdentityProvider,
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  stopped: AbortSignal,
) {
  const { issuer, audience, userClaim } = provider;
  // If the clock were set back, old keys would stay in use, and new ones unknown, for that long.
  const forKeys = { clock: steadyClock(clock), log };
  const keySet = createKeySet(createKeySource(provider, stopped), forKeys, stopped);

  /**
   * Verifies signature, issuer, audience and times (RFC 7519 §7.2, RFC 8725). `keysVersion`: the keys it did so with.
   * @throws AppError 40101, 40102 when it has expired, 50304 when the provider cannot be reached and its keys are not
   * known. The message says what is wrong and repeats nothing of the token.
   */
  async function verify(token: string): Promise<Claims & { keysVersion: number }> {
    let keysVersion = 0;
    try {
      // Before the signature, so that a foreign token causes no request to our provider.
      if (decodeJwt(token).iss !== issuer) throw unacceptable(CLAIMS.iss);
      const { payload } = await jwtVerify(
        token,
        async (header) => {
          const { key, version } = await keySet.find(header);
          keysVersion = version;
          return key;
        },
        {
          algorithms: ALGORITHMS,
          issuer,
          audience,
          requiredClaims: ['exp', userClaim],
          clockTolerance: limits.skewSeconds,
          currentDate: new Date(clock.now()),
        },
      );
      return { ...readClaims(payload, provider), keysVersion };
    } catch (error) {
      throw error instanceof AppError ? error : refusal(error);
    }
  }

  /** The user that a JWT of this provider claims to act for. Does not check its signature. */
  function claimedUser(token: string): string | undefined {
    try {
      const { iss, [userClaim]: user } = decodeJwt(token);
      return iss === issuer && typeof user === 'string' ? user : undefined;
    } catch {
      return undefined;
    }
  }

  return {
    verify,
    claimedUser,
    /** A token verified under another number must be verified again; when undefined, every token must be. */
    keysVersion: keySet.version,
  };
}

function readClaims(payload: JWTPayload, { userClaim, scopeClaim }: IdentityProvider): Claims {
  // The client must prove that it holds a key (RFC 7800), which this service does not check. Accepting the token
  // without the proof would only help a thief.
  if (payload.cnf !== undefined) {
    throw unacceptable(
      'it is bound to a key of its client (cnf), which is not supported; ask for a bearer token',
    );
  }
  const user = payload[userClaim];
  if (typeof user !== 'string' || !isUserName(user)) {
    throw unacceptable(`its claim ${userClaim} must be a user name of ${userNameRule}`);
  }
  // RFC 7519 allows any number, also 1e400, which is read as Infinity.
  const expiresAt = Math.min(Math.floor((payload.exp ?? 0) * 1000), LAST_TIME);
  const refusedFrom = expiresAt + limits.skewSeconds * 1000;
  return { user, scopes: readScopes(payload[scopeClaim]), expiresAt, refusedFrom };
}

/** Scopes of other services are ignored. */
function readScopes(claim: unknown): ReadonlySet<Scope> {
  const listed: unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return new Set(listed.filter((each) => typeof each === 'string').filter(isScope));
}

/** Why a claim's value is wrong. */
const CLAIMS = {
  iss: 'its issuer (iss) is not the identity provider of this service',
  aud: 'it is for another audience; its claim aud must name this service',
  nbf: 'it is not valid yet (nbf)',
} as const;

const REASONS: Readonly<Record<string, string>> = {
  [errors.JOSEAlgNotAllowed.code]: `it must be signed with ${ALGORITHMS.join(', ')}`,
  [errors.JOSENotSupported.code]: 'its header requires an unsupported feature',
  [errors.JWSInvalid.code]: 'it is not a signed JWT',
  [errors.JWTInvalid.code]: 'it is not a signed JWT',
  [errors.JWKSNoMatchingKey.code]: 'it is signed with a key that the identity provider does not publish',
  [errors.JWKSMultipleMatchingKeys.code]:
    'its header (kid) does not name exactly one key of the identity provider',
  [errors.JWSSignatureVerificationFailed.code]: 'its signature is wrong',
};

/** Without the cause, which would contain the claims. */
function refusal(error: unknown): AppError {
  if (error instanceof errors.JWTExpired) return expiredToken();
  if (error instanceof errors.JWTClaimValidationFailed) return unacceptable(claimProblem(error));
  const reason = error instanceof errors.JOSEError ? REASONS[error.code] : undefined;
  // Remaining: published keys that nobody should use because they are too short or not on their curve.
  return unacceptable(reason ?? 'it is signed with a key that cannot be used');
}

function claimProblem({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === 'missing') return `it lacks the claim ${claim}`;
  if (reason === 'invalid') return `its claim ${claim} must be a number`;
  return Object.hasOwn(CLAIMS, claim) ? CLAIMS[claim as keyof typeof CLAIMS] : `its claim ${claim} is wrong`;
}

function unacceptable(what: string): AppError {
  return new AppError(40101, `The token is not acceptable: ${what}.`);
}
