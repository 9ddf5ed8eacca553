import type { Scope } from './scopes.ts';

/** What access needs of a store. */
export interface AccessStore {
  /** Undefined when the name is taken. */
  createUser(user: { name: string; at: number }): Promise<User | undefined>;
  /** By name. */
  users(): Promise<User[]>;

  /** False when there is no such user. */
  createToken(token: NewToken): Promise<boolean>;
  /** Revoked and expired ones included. */
  findToken(hash: string): Promise<StoredToken | undefined>;
  /** Oldest first, revoked and expired ones included. */
  tokens(): Promise<StoredToken[]>;
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

export type User = { id: number; name: string; createdAt: number };

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
  user: { id: number; name: string };
  label: string;
  scopes: readonly Scope[];
  createdAt: number;
  expiresAt: number | undefined;
  revokedAt: number | undefined;
};
