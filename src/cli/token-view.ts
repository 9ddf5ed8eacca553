import type { StoredToken } from '../access/port.ts';
import { type TokenStatus, tokenStatus } from '../access/tokens.ts';
import { isoTime } from './time.ts';

/** The members of `describeToken`, for a help text. */
export const tokenMembers =
  '{id, user, label, scopes, status, createdAt, expiresAt, revokedAt, replacedBy, isBootstrap}; the times but the first, and replacedBy, may be null';

export type TokenView = {
  id: string;
  user: string;
  label: string;
  scopes: readonly string[];
  status: TokenStatus;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  replacedBy: string | null;
  isBootstrap: boolean;
};

/** All that is kept of a token but its hash. */
export function describeToken(token: StoredToken, now: number): TokenView {
  const { id, label, scopes, createdAt, expiresAt, revokedAt, replacedBy, isBootstrap } = token;
  return {
    id,
    user: token.user.name,
    label,
    scopes,
    status: tokenStatus(token, now),
    createdAt: isoTime(createdAt),
    expiresAt: expiresAt === undefined ? null : isoTime(expiresAt),
    revokedAt: revokedAt === undefined ? null : isoTime(revokedAt),
    replacedBy: replacedBy ?? null,
    isBootstrap,
  };
}
