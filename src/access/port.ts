import type { Caller } from '../idempotency/port.ts';
import type { Runtime } from '../runtime.ts';
import type { Scope } from './scopes.ts';

export type AccessContext = { store: AccessStore; runtime: Runtime };

/** What access needs from a store. */
export interface AccessStore {
  /** The name satisfies `isUserName`. Undefined when it is taken. */
  createUser(user: { name: string; at: number }): Promise<User | undefined>;
  /** By name. */
  users(): Promise<User[]>;
  user(name: string): Promise<User | undefined>;
  /**
   * Disabling a user makes the service refuse their tokens and disables their webhooks; enabling the user enables
   * those webhooks again. Disabling twice keeps the first time.
   */
  setUserDisabled(name: string, isDisabled: boolean, at: number): Promise<DisablingOutcome>;
  /** What deleting the user would remove. Undefined when there is no such user. */
  belongings(name: string): Promise<Belongings | undefined>;
  /**
   * Removes the user, their tokens, shares and webhooks at once and frees the name. Plants and events are removed
   * slice by slice (`ChoreStore`). False when there is no such user.
   */
  deleteUser(name: string, at: number): Promise<boolean>;

  /** Lets the viewer read all plants of the owner, including future ones. Both are user names. */
  addShare(share: NewShare, most: number): Promise<ShareOutcome>;
  /**
   * Takes effect at once for every list, feed and delivery; pending deliveries to the viewer's webhooks are dropped
   * slice by slice. False when there is no such share.
   */
  removeShare(share: { owner: string; viewer: string }): Promise<boolean>;
  /** Ordered by the names of owner and viewer. */
  shares(): Promise<Share[]>;
  /** The users whose plants the viewer may read: the viewer, then the users that share with them, by name. */
  visibleOwners(viewer: number): Promise<readonly number[]>;

  /** @param asking for a token that its user creates, or a first one; without it, for the operator, no limit applies */
  createToken(token: NewToken, asking?: Asking, caller?: Caller): Promise<TokenCreationOutcome>;
  /** Revoked and expired ones included. */
  findToken(hash: string): Promise<StoredToken | undefined>;
  /** Oldest first, revoked and expired ones included. With a user's id, only theirs. */
  tokens(user?: number): Promise<StoredToken[]>;
  /**
   * Replaces a live token with a new one of the same user, label and scopes. The old token ends at `overlapUntil`,
   * unless it ends before. Does not rotate a bootstrap token, which the operator's settings replace.
   *
   * @param asking when the user rotates a token of their own; those of others do not exist for them
   */
  rotateToken(rotation: TokenRotation, asking?: Asking, caller?: Caller): Promise<TokenRotationOutcome>;
  /**
   * False when there is no such token. Revoking twice keeps the first time.
   *
   * @param user only a live token of this user
   */
  revokeToken(id: string, at: number, user?: number, caller?: Caller): Promise<boolean>;
  /** Keeps the day of each token's last use. Does not change the epoch. Tokens that are gone are passed over. */
  recordUses(uses: readonly TokenUse[]): Promise<void>;
  /**
   * Makes this the user's only live bootstrap token and creates the user if missing. The same hash with the same scopes
   * again changes nothing; others replace the token.
   */
  setBootstrapToken(token: NewToken): Promise<void>;

  /**
   * A number that changes whenever an earlier `findToken` answer may be outdated, including by other processes. Cheap
   * enough to read for each request.
   */
  accessEpoch(): number;
}

/** Times are milliseconds since the Unix epoch. */
export type User = { id: number; name: string; createdAt: number; disabledAt: number | undefined };

/** `as before`: nothing changed. */
export type DisablingOutcome = 'changed' | 'as before' | 'no user';

/** How many of each a user has. `shares` counts both directions. */
export type Belongings = { plants: number; webhooks: number; tokens: number; shares: number };

/** User names. */
export type Share = { owner: string; viewer: string; createdAt: number };
export type NewShare = { owner: string; viewer: string; at: number };

/** `owner full`, `viewer full`: the owner shares with `most` users, or as many share with the viewer. */
export type ShareOutcome =
  | 'shared'
  | 'shared before'
  | 'same user'
  | 'no owner'
  | 'no viewer'
  | 'owner full'
  | 'viewer full';

export type TokenRotation = {
  /** The id of the token to replace. */
  id: string;
  replacement: Pick<NewToken, 'id' | 'hash' | 'createdAt' | 'expiresAt'>;
  overlapUntil: number;
};

/** `full`: the user has `most` live tokens. `caller ended`: the token that asks is no longer live. */
export type TokenRefusal = 'full' | 'caller ended';
export type TokenCreationOutcome = 'created' | 'no user' | TokenRefusal;
export type TokenRotationOutcome =
  | 'rotated'
  | 'no token'
  | 'not live'
  | 'bootstrap'
  | { replacedBy: string }
  | TokenRefusal;

/**
 * A user who gets a token of their own. `token`: the id of the one that asks, checked in the transaction; undefined for
 * a JWT. `most`: of the user's live tokens; a rotation without an overlap adds none. Of those that ended as many are kept.
 */
export type Asking = { user: number; token: string | undefined; most: number };

/** `on`: a UTC day as `YYYY-MM-DD`. */
export type TokenUse = { id: string; on: string };

export type NewToken = {
  id: string;
  /** SHA-256 of the token, in hexadecimal. The token itself is not stored. */
  hash: string;
  user: string;
  label: string;
  scopes: readonly Scope[];
  createdAt: number;
  expiresAt: number | undefined;
};

export type StoredToken = Omit<NewToken, 'hash' | 'user'> & {
  user: { id: number; name: string; isDisabled: boolean };
  revokedAt: number | undefined;
  /** The id of the token that replaced it. */
  replacedBy: string | undefined;
  /** Set by the operator's configuration (`setBootstrapToken`). */
  isBootstrap: boolean;
  /** The UTC day of its last use as `YYYY-MM-DD`; undefined if it was not used since such days are kept. */
  lastUsedOn: string | undefined;
};
