import type { Scope } from './scopes.ts';

/** What access needs of a store. */
export interface AccessStore {
  /** Undefined when the name is taken. */
  createUser(user: { name: string; at: number }): Promise<User | undefined>;
  /** The user of this name, made when missing. */
  ensureUser(user: { name: string; at: number }): Promise<User>;
  /** By name. */
  users(): Promise<User[]>;
  user(name: string): Promise<User | undefined>;
  /**
   * A disabled user's tokens are refused and their webhooks are disabled; enabling the user enables those webhooks
   * again. False when there is no such user. Twice keeps the first time.
   */
  setUserDisabled(name: string, isDisabled: boolean, at: number): Promise<boolean>;
  /** What would go with the user. Undefined when there is no such user. */
  belongings(name: string): Promise<Belongings | undefined>;
  /**
   * The user, their tokens, shares and webhooks are gone at once, and the name is free; plants and events go slice by
   * slice (`ChoreStore`). False when there is no such user.
   */
  deleteUser(name: string, at: number): Promise<boolean>;

  /** Lets the viewer read all plants of the owner. */
  addShare(share: NewShare, most: number): Promise<ShareOutcome>;
  /**
   * At once for every list, feed and delivery; what waits for the viewer's webhooks is dropped slice by slice. False
   * when there is no such share.
   */
  removeShare(share: { owner: string; viewer: string }): Promise<boolean>;
  /** By owner, then viewer; names. */
  shares(): Promise<Share[]>;
  /** Whose plants the viewer may read: their own, then those of the users that share with them, by name. */
  visibleOwners(viewer: number): Promise<readonly number[]>;

  /** False when there is no such user. */
  createToken(token: NewToken): Promise<boolean>;
  /** Revoked and expired ones included. */
  findToken(hash: string): Promise<StoredToken | undefined>;
  /** Oldest first, revoked and expired ones included. */
  tokens(): Promise<StoredToken[]>;
  /**
   * Adds a token in the place of a live one, with its user, label and scopes; that one ends at `overlapUntil`, unless
   * it ends before. Leaves a bootstrap token alone: the operator's settings replace it.
   */
  rotateToken(rotation: TokenRotation): Promise<TokenRotationOutcome>;
  /** False when there is no such token. Revoking twice keeps the first time. */
  revokeToken(id: string, at: number): Promise<boolean>;
  /**
   * Makes this the only live bootstrap token of the user, who is created when missing: the same hash again
   * changes nothing, another one replaces it.
   */
  setBootstrapToken(token: NewToken): Promise<void>;

  /**
   * A number that changes whenever something that an earlier `findToken` answered may no longer hold,
   * changes by other processes included. Cheap enough to ask for each request.
   */
  accessEpoch(): number;
}

/** Times are milliseconds since the Unix epoch. */
export type User = { id: number; name: string; createdAt: number; disabledAt: number | undefined };

/** How much of each a user has. `shares`: with others, and of others. */
export type Belongings = { plants: number; webhooks: number; tokens: number; shares: number };

/** Names of users. */
export type Share = { owner: string; viewer: string; createdAt: number };
export type NewShare = { owner: string; viewer: string; at: number };

/** `full`: this user has `most` shares of that side. */
export type ShareOutcome =
  | 'shared'
  | 'shared before'
  | 'no owner'
  | 'no viewer'
  | 'owner full'
  | 'viewer full';

export type TokenRotation = {
  /** Of the token that is replaced. */
  id: string;
  replacement: Pick<NewToken, 'id' | 'hash' | 'createdAt' | 'expiresAt'>;
  overlapUntil: number;
};

export type TokenRotationOutcome = 'rotated' | 'no token' | 'not live' | 'bootstrap' | { replacedBy: string };

export type NewToken = {
  id: string;
  /** SHA-256 of the token, in hexadecimal. The token itself is stored nowhere. */
  hash: string;
  user: string;
  label: string;
  scopes: readonly Scope[];
  createdAt: number;
  expiresAt: number | undefined;
};

export type StoredToken = {
  id: string;
  user: { id: number; name: string; isDisabled: boolean };
  label: string;
  scopes: readonly Scope[];
  createdAt: number;
  expiresAt: number | undefined;
  revokedAt: number | undefined;
  /** The id of the token that took its place. */
  replacedBy: string | undefined;
  /** Set by the operator's configuration (`setBootstrapToken`). */
  isBootstrap: boolean;
};
