import type { CallOptions, KeyedOptions, Requests } from './requests.ts';
import type { Token, TokenCreated, TokenInput, TokenRotated, TokenRotationInput } from './schemas.ts';

/**
 * The user's own tokens. A new one is in the first response only: when that is lost and the call retried, `token` is
 * absent; then rotate the token of this id with an overlap of 0, or revoke it.
 */
export type Tokens = {
  /** The live tokens, oldest first. */
  list(options?: CallOptions): Promise<Token[]>;
  /** By default with the scopes and the expiry of the token that asks, which it cannot exceed. */
  create(token?: TokenInput, options?: KeyedOptions): Promise<TokenCreated>;
  /** Replaces a token; the old one works for another `overlap` seconds, by default 86 400. */
  rotate(id: string, options?: TokenRotationInput & KeyedOptions): Promise<TokenRotated>;
  /** As for plants, "not found" after a lost response counts as success. */
  revoke(id: string, options?: CallOptions): Promise<void>;
};

export function tokensOf({ read, post }: Requests): Tokens {
  return {
    list: (options) => read({ ...options, path: ['tokens'] }),
    create: (token = {}, options) => post(['tokens'], token, options),
    rotate: (id, { overlap, ...options } = {}) => post(['tokens', id, 'rotate'], { overlap }, options),
    revoke: (id, options) => read({ ...options, method: 'DELETE', path: ['tokens', id] }),
  };
}
