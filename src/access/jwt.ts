import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { AppError } from '../errors.ts';
import { identityProvider as limits } from '../limits.ts';
import { type Runtime, steadyClock } from '../runtime.ts';
import { createKeySource, type IdentityProviderLocation } from './jwt-documents.ts';
import { createKeySet } from './jwt-keys.ts';
import { isScope, type Scope } from './scopes.ts';
import { isUserName, userNameRule } from './users.ts';

/** What a JWT says, after its signature and its claims were verified. */
export type VerifiedJwt = {
  /** Satisfies `isUserName`. */
  user: string;
  scopes: ReadonlySet<Scope>;
  /** Milliseconds since the Unix epoch, the skew of clocks included. */
  expiresAt: number;
  /** Which keys it was verified with. */
  keysVersion: number;
};

/** Verifies the JWTs of one identity provider. */
export type VerifyJwt = {
  /**
   * Verifies signature, issuer, audience and times (RFC 7519 §7.2, RFC 8725).
   *
   * @throws AppError 40101, 40102 when it has expired, 50304 when the provider cannot be reached and its keys are not
   * known. The message says what is wrong and repeats nothing of the token.
   */
  verify(token: string): Promise<VerifiedJwt>;
  /** Whom a JWT of this provider says that it acts for, without a look at its signature. */
  claimedUser(token: string): string | undefined;
  /** What was verified under another number has to be verified again; so has everything when it is undefined. */
  keysVersion(): number | undefined;
};

export type IdentityProvider = IdentityProviderLocation & {
  /** What the claim `aud` must be, or have among others. */
  audience: string;
  /** The claim that names the user. */
  userClaim: string;
};

/** Whatever the header or the key says: a secret shared with the provider is none, and `none` is no signature. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];

/** Begins to ask the provider for its keys; what is under way when `stopped` is aborted is given up. */
export function createVerifyJwt(
  provider: IdentityProvider,
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  stopped: AbortSignal,
): VerifyJwt {
  const { issuer, audience, userClaim } = provider;
  const keySet = createKeySet({
    fetchKeys: createKeySource(provider, stopped),
    // Set back, the clock would keep old keys in use, and new ones out, for as long.
    clock: steadyClock(clock),
    log,
    stopped,
  });

  async function verify(token: string): Promise<VerifiedJwt> {
    let keysVersion = 0;
    try {
      refuseOtherIssuer(token, issuer);
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
      return { ...readClaims(payload, userClaim), keysVersion };
    } catch (error) {
      throw error instanceof AppError ? error : refusal(error);
    }
  }

  function claimedUser(token: string): string | undefined {
    try {
      const { iss, [userClaim]: user } = decodeJwt(token);
      return iss === issuer && typeof user === 'string' ? user : undefined;
    } catch {
      return undefined;
    }
  }

  return { verify, claimedUser, keysVersion: keySet.version };
}

/** Before the signature: a token of somebody else is no reason to ask our provider for keys. */
function refuseOtherIssuer(token: string, issuer: string): void {
  if (decodeJwt(token).iss !== issuer) throw unacceptable(CLAIMS.iss);
}

function readClaims(payload: JWTPayload, userClaim: string): Omit<VerifiedJwt, 'keysVersion'> {
  // Its client has to prove that it holds a key (RFC 7800), which is not looked at here: taking the token without
  // the proof would be of use to a thief only.
  if (payload.cnf !== undefined) {
    throw unacceptable(
      'it is bound to a key of its client (cnf), which is not supported; ask for a bearer token',
    );
  }
  const user = payload[userClaim];
  if (typeof user !== 'string' || !isUserName(user)) {
    throw unacceptable(`its claim ${userClaim} must name the user, with ${userNameRule}`);
  }
  const expiresAt = ((payload.exp ?? 0) + limits.skewSeconds) * 1000;
  return { user, scopes: readScopes(payload.scope), expiresAt };
}

/** RFC 8693 §4.2: separated by spaces. Those of other services are none of ours. */
function readScopes(claim: unknown): ReadonlySet<Scope> {
  return new Set(typeof claim === 'string' ? claim.split(' ').filter(isScope) : []);
}

/** What is wrong with a claim whose value is not the right one. */
const CLAIMS = {
  iss: 'it is of another issuer than the identity provider of this service',
  aud: 'it is for another audience; its claim aud must name this service',
  nbf: 'it is not valid yet (nbf)',
} as const;

const REASONS: Readonly<Record<string, string>> = {
  [errors.JOSEAlgNotAllowed.code]: `it must be signed with ${ALGORITHMS.join(', ')}`,
  [errors.JOSENotSupported.code]: 'its header asks for something that is not supported',
  [errors.JWSInvalid.code]: 'it is not a signed JWT',
  [errors.JWTInvalid.code]: 'it is not a signed JWT',
  [errors.JWKSNoMatchingKey.code]: 'it is signed with a key that the identity provider does not publish',
  [errors.JWKSMultipleMatchingKeys.code]: 'it does not say with which key it is signed (kid)',
  [errors.JWSSignatureVerificationFailed.code]: 'its signature is wrong',
};

/** Without the cause: that would carry the claims. */
function refusal(error: unknown): AppError {
  if (error instanceof errors.JWTExpired) return new AppError(40102, 'The token has expired; use a new one.');
  if (error instanceof errors.JWTClaimValidationFailed) return unacceptable(claimProblem(error));
  const reason = error instanceof errors.JOSEError ? REASONS[error.code] : undefined;
  // What is left are keys that the provider publishes and nobody should use: too short, or not on their curve.
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
