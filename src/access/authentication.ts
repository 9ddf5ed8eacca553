import { AppError, expiredToken } from '../errors.ts';
import { access as limits } from '../limits.ts';
import type { Log, Runtime } from '../runtime.ts';
import type { VerifyJwt } from './jwt.ts';
import type { AccessStore, User } from './port.ts';
import type { Scope } from './scopes.ts';
import { hashToken, isMistyped } from './tokens.ts';
import { disabledUser } from './users.ts';

/** The user a token acts for, and what it may do. */
export type Principal = {
  user: { id: number; name: string };
  /** The id of an opaque token; undefined for a JWT. */
  token: string | undefined;
  scopes: ReadonlySet<Scope>;
  /** Milliseconds since the Unix epoch; undefined for a token that does not expire. */
  expiresAt: number | undefined;
  /** The same, but for a JWT later by the clock skew. */
  refusedFrom: number | undefined;
  /** What its requests are counted by: the id of the token or, of a token that is made anew all the time, the user. */
  countedAs: string;
};

type Options = {
  store: AccessStore;
  runtime: Runtime;
  /** The operator's own token, accepted even when it looks like a mistyped opaque token or a JWT. */
  bootstrapToken: string | undefined;
  /** Undefined: JWTs are not accepted. */
  jwts?: VerifyJwt | undefined;
};

/**
 * `keysVersion`: for a JWT, the keys it was verified with. `nextUseAt`: when a use is recorded again, in milliseconds
 * since the Unix epoch.
 */
type Known = { principal: Principal; keysVersion: number | undefined; nextUseAt: number };

export type Authenticate = ReturnType<typeof createAuthenticate>;

/** Finds the user a bearer token acts for. */
export function createAuthenticate({ store, runtime, bootstrapToken, jwts }: Options) {
  const known = new Map<string, Known>();
  let knownBytes = 0;
  let epoch = store.accessEpoch();
  const recordUse = createUseRecorder(store, runtime.log);

  /**
   * Synchronous, for a token that was seen before and whose record has not changed since.
   * @throws AppError 40102 when it has expired.
   */
  function knownPrincipal(token: string): Principal | undefined {
    const current = store.accessEpoch();
    if (current !== epoch) {
      forget();
      epoch = current;
    }
    const found = known.get(token);
    if (found === undefined) return undefined;
    if (found.keysVersion !== undefined && found.keysVersion !== jwts?.keysVersion()) return undefined;
    return use(found);
  }

  /** For most requests two comparisons. */
  function use(found: Known): Principal {
    const now = runtime.clock.now();
    const { principal } = found;
    if (principal.refusedFrom !== undefined && now >= principal.refusedFrom) {
      throw expiredToken();
    }
    if (now >= found.nextUseAt && principal.token !== undefined) {
      found.nextUseAt = dayAfter(now);
      recordUse(principal.token, now);
    }
    return principal;
  }

  /**
   * Creates the user of a JWT on first use, unless `makesUser` is false: then an unknown user is refused.
   * @throws AppError 40101 for a token that is unknown, revoked or not acceptable, or whose user is disabled; 40102
   * for an expired one; 50304 for a JWT while the identity provider cannot be reached and its keys are not known.
   */
  async function lookUp(token: string, { makesUser } = { makesUser: true }): Promise<Principal> {
    const asked = epoch;
    const found =
      jwts && JWT.test(token) && token !== bootstrapToken
        ? await lookUpJwt(jwts, token, makesUser)
        : await lookUpOpaque(token);
    if (asked === epoch) remember(token, found);
    return use(found);
  }

  async function lookUpOpaque(token: string): Promise<Known> {
    if (isMistyped(token) && token !== bootstrapToken) throw unknownToken();
    const found = await store.findToken(hashToken(token));
    if (!found || found.revokedAt !== undefined) throw unknownToken();
    if (found.user.isDisabled) throw disabledUser();
    const { id, user, expiresAt, lastUsedOn } = found;
    const nextUseAt = lastUsedOn === undefined ? 0 : dayAfter(Date.parse(lastUsedOn));
    const principal = {
      user: { id: user.id, name: user.name },
      token: id,
      scopes: new Set(found.scopes),
      expiresAt,
      refusedFrom: expiresAt,
      countedAs: id,
    };
    return { principal, keysVersion: undefined, nextUseAt };
  }

  async function lookUpJwt({ verify }: VerifyJwt, token: string, makesUser: boolean): Promise<Known> {
    const { user: name, keysVersion, ...allowed } = await verify(token);
    const user = (await store.user(name)) ?? (makesUser ? await createUser(name) : undefined);
    if (!user || user.disabledAt !== undefined) throw disabledUser();
    const countedAs = `user ${user.id}`;
    const principal = { user: { id: user.id, name }, token: undefined, ...allowed, countedAs };
    return { principal, keysVersion, nextUseAt: Infinity };
  }

  async function createUser(name: string): Promise<User | undefined> {
    const made = await store.createUser({ name, at: runtime.clock.now() });
    // Another request may have created the user meanwhile.
    return made ?? store.user(name);
  }

  function remember(token: string, found: Known): void {
    if (known.size >= limits.cachedTokens || knownBytes >= limits.cachedTokenBytes) forget();
    if (!known.has(token)) knownBytes += token.length;
    known.set(token, found);
  }

  function forget(): void {
    known.clear();
    knownBytes = 0;
  }

  /**
   * Identifies a token that was valid before: by its hash or, for a JWT, by the user it claims, since JWTs are
   * reissued every few minutes. Proves nothing.
   */
  function claimant(token: string): string {
    const user = jwts && JWT.test(token) ? jwts.claimedUser(token) : undefined;
    return user === undefined ? hashToken(token) : `user ${user}`;
  }

  return { known: knownPrincipal, lookUp, claimant };
}

/**
 * Writes the day on which tokens were last used. No request waits for it: what comes while a write is under way is
 * written together after it. What could not be written goes with the next one; a stop of the process may lose it.
 */
function createUseRecorder(store: AccessStore, log: Log) {
  /** Days by token. */
  const waiting = new Map<string, string>();
  let isWriting = false;

  async function write(): Promise<void> {
    isWriting = true;
    try {
      while (waiting.size > 0) {
        const some = waiting.entries().take(limits.usesTogether).toArray();
        await store.recordUses(some.map(([id, on]) => ({ id, on })));
        for (const [id, on] of some) if (waiting.get(id) === on) waiting.delete(id);
      }
    } catch (error) {
      log.debug({ err: error }, 'could not record when tokens were last used');
    } finally {
      isWriting = false;
    }
  }

  return (id: string, at: number): void => {
    waiting.set(id, new Date(at).toISOString().slice(0, 10));
    if (!isWriting) void write();
  };
}

const DAY_MS = 86_400_000;

/** When the next UTC day begins. Both are milliseconds since the Unix epoch. */
function dayAfter(ms: number): number {
  return (Math.floor(ms / DAY_MS) + 1) * DAY_MS;
}

/** The form of a signed JWT: the compact serialization (RFC 7515 §3.1) of a header that begins with `{`. */
const JWT = /^e[wy][\w-]*\.[\w-]*\.[\w-]*$/;

/** The error for a token that is unknown, or no longer valid. */
export function unknownToken(): AppError {
  return new AppError(40101, 'The token is unknown or was revoked; check it for typos or use another.');
}
